import { Button } from "@mantine/core";
import styles from "./form.module.css";

export interface Replaced {
  readonly what: string;
  /** What the button says that undoes it. */
  readonly undo: string;
  readonly act: () => void;
}

/** What has happened to the draft, and the way back. */
export function DraftNote({ replaced, before }: { replaced: Replaced | undefined; before: () => void }) {
  return (
    <div role="status">
      {replaced && (
        <p className={styles.kept} data-testid="draft-note">
          {replaced.what}{" "}
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => {
              before();
              replaced.act();
            }}
          >
            {replaced.undo}
          </Button>
        </p>
      )}
    </div>
  );
}
