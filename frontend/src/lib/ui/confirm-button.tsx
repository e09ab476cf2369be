import { Button, type ButtonProps, Group, Popover, Text } from "@mantine/core";
import { useState } from "react";

/** A button that asks before it acts. */
export function ConfirmButton(props: {
  label: string;
  question: string;
  /** What the button says that changes nothing. */
  keep?: string;
  confirm: string;
  busy: boolean;
  act: () => void;
  testId?: string;
  size?: ButtonProps["size"];
  /** What it acts upon, where several stand together. */
  of?: string;
}) {
  const [asking, setAsking] = useState(false);
  return (
    <Popover
      opened={asking}
      onChange={setAsking}
      trapFocus
      withArrow
      shadow="md"
      width={280}
      position="bottom-end"
    >
      <Popover.Target>
        <Button
          variant="default"
          size={props.size}
          loading={props.busy}
          aria-label={props.of && `${props.label} ${props.of}`}
          onClick={() => setAsking(true)}
          data-testid={props.testId}
        >
          {props.label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Text size="sm" mb="sm">
          {props.question}
        </Text>
        <Group gap="xs" justify="flex-end">
          <Button variant="default" size="xs" onClick={() => setAsking(false)}>
            {props.keep ?? "Keep it going"}
          </Button>
          <Button
            color="red.8"
            size="xs"
            data-testid={props.testId && `${props.testId}-confirm`}
            onClick={() => {
              setAsking(false);
              props.act();
            }}
          >
            {props.confirm}
          </Button>
        </Group>
      </Popover.Dropdown>
    </Popover>
  );
}
