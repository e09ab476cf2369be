import { Button } from "@mantine/core";
import { explain } from "@/lib/api/problem";
import styles from "./ui.module.css";

/** Says what went wrong where the thing should have been, and offers to try again. */
export function ErrorPanel({ what, error, retry }: { what: string; error: unknown; retry?: () => void }) {
  return (
    <div className={styles.panel} role="alert" data-testid="error">
      <span>
        <strong>{what}</strong> {explain(error)}
      </span>
      {retry && (
        <Button size="compact-sm" variant="default" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}
