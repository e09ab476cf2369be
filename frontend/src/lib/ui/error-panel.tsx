import { Button } from "@mantine/core";
import { explain } from "@/lib/api/problem";
import styles from "./ui.module.css";

/** Says what went wrong where the thing should have been, and offers to try again. */
export function ErrorPanel(props: {
  what: string;
  error: unknown;
  retry?: () => void;
  /** It is being tried again. */
  busy?: boolean | undefined;
}) {
  const { what, error, retry, busy } = props;
  return (
    <div className={styles.panel} role="alert" data-testid="error">
      <span>
        <strong>{what}</strong> {explain(error)}
      </span>
      {retry && (
        <Button size="compact-sm" variant="default" onClick={retry} loading={busy}>
          Try again
        </Button>
      )}
    </div>
  );
}
