import { Button, Group, Modal, NativeSelect } from "@mantine/core";
import { type ReactNode, useState } from "react";

interface MoveWindowProps {
  /** What is moved, in words. */
  what: string;
  /** The projects that it may be moved into. */
  into: readonly string[];
  busy?: boolean;
  move: (project: string) => void;
  onClose: () => void;
  /** What went wrong. */
  children?: ReactNode;
}

/** A window that asks into which project experiments are moved. */
export function MoveWindow({ what, into, busy, move, onClose, children }: MoveWindowProps) {
  const [asked, setAsked] = useState("");
  const project = into.includes(asked) ? asked : into[0];
  return (
    <Modal opened onClose={onClose} title={`Move ${what} to another project`}>
      <NativeSelect
        label="Project"
        description="From then on, only members of that project have access. Runs continue."
        data={[...into]}
        value={project}
        onChange={(event) => setAsked(event.currentTarget.value)}
        data-testid="move-into"
      />
      {children}
      <Group justify="flex-end" gap="xs" mt="md">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          loading={busy}
          disabled={project === undefined}
          onClick={() => project !== undefined && move(project)}
          data-testid="move"
        >
          Move
        </Button>
      </Group>
    </Modal>
  );
}
