import { Button, Group, Modal, Text } from "@mantine/core";

interface QuestionProps {
  /** What is about to be done, as a title. */
  title: string;
  question: string;
  /** What the button says that does it. */
  confirm: string;
  /** What the button says that changes nothing. */
  keep?: string;
  busy?: boolean;
  act: () => void;
  onClose: () => void;
  testId?: string;
}

/** A window that asks before something is done: for what is chosen in a menu, which closes meanwhile. */
export function QuestionWindow({
  title,
  question,
  confirm,
  keep,
  busy,
  act,
  onClose,
  testId,
}: QuestionProps) {
  return (
    <Modal opened onClose={onClose} title={title}>
      <Text size="sm">{question}</Text>
      <Group justify="flex-end" gap="xs" mt="md">
        <Button variant="default" onClick={onClose} data-autofocus>
          {keep ?? "Keep it going"}
        </Button>
        <Button color="red.8" loading={busy} onClick={act} data-testid={testId && `${testId}-confirm`}>
          {confirm}
        </Button>
      </Group>
    </Modal>
  );
}
