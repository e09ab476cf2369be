import { Group } from "@mantine/core";
import { LinkButton } from "@/lib/ui/link-button";
import screen from "@/lib/ui/screen.module.css";
import { useNow } from "@/lib/ui/use-now";
import { DeletedList } from "./deleted-list";
import { OutcomeNote } from "./outcome-note";
import { useActions } from "./use-actions";

/** The experiments that are deleted, and can be restored. */
export function DeletedScreen() {
  const { run, busy, outcome, dismiss } = useActions();
  const now = useNow();
  return (
    <>
      <Group justify="space-between" align="center" mb={22}>
        <h1 className={screen.title}>Deleted experiments</h1>
        <LinkButton to="/" search={(before) => ({ ...before, show: undefined })} variant="default">
          All experiments
        </LinkButton>
      </Group>
      <DeletedList now={now} busy={busy} restore={(item) => void run("restore", [item])} />
      {outcome && <OutcomeNote outcome={outcome} onClose={dismiss} />}
    </>
  );
}
