import { Button, Group, Menu, Modal, Text } from "@mantine/core";
import { useState } from "react";
import { EXAMPLES, type Example } from "./examples";
import styles from "./start-from.module.css";

interface StartFromProps {
  /** Whether there is a draft that an example would replace. */
  asks: boolean;
  fill: (example: Example) => void;
}

/** Examples that fill in the form; asks first where somebody has begun to write. */
export function StartFrom({ asks, fill }: StartFromProps) {
  const [asked, setAsked] = useState<Example>();
  const [asking, setAsking] = useState(false);
  const choose = (example: Example) => {
    if (!asks) return fill(example);
    setAsked(example);
    setAsking(true);
  };
  return (
    <>
      <Menu shadow="md" position="bottom-end" withinPortal width="min(400px, calc(100vw - 32px))">
        <Menu.Target>
          <Button variant="default" rightSection={<Chevron />} data-testid="start-from">
            Start from
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {EXAMPLES.map((example) => (
            <Menu.Item key={example.key} onClick={() => choose(example)} data-testid="example">
              {example.label}
              <span className={styles.about}>{example.about}</span>
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Modal opened={asking} onClose={() => setAsking(false)} title="Replace your draft?" centered>
        <Text size="sm">
          “{asked?.label}” takes its place. As long as you stay on this page, you can bring your draft back.
        </Text>
        <Group gap="xs" justify="flex-end" mt="md">
          <Button variant="default" data-autofocus onClick={() => setAsking(false)}>
            Keep my draft
          </Button>
          <Button
            data-testid="replace-draft"
            onClick={() => {
              setAsking(false);
              if (asked) fill(asked);
            }}
          >
            Replace it
          </Button>
        </Group>
      </Modal>
    </>
  );
}

function Chevron() {
  return (
    <svg width="12" height="12" viewBox="0 0 12 12" fill="none" stroke="currentColor" aria-hidden="true">
      <path d="M2.5 4.5 6 8l3.5-3.5" strokeWidth="1.4" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
