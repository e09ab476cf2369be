import { stateLook } from "./states";
import styles from "./ui.module.css";

/** A state as a dot and a word; on hover its meaning, or a note of more than that. */
export function StateBadge({ state, testId, note }: { state: string; testId?: string; note?: string }) {
  const look = stateLook(state);
  return (
    <span
      className={`${styles.state} ${styles[look.tone]}`}
      title={note ?? look.meaning}
      data-testid={testId}
      data-state={state}
    >
      <span className={styles.dot} />
      {look.label}
    </span>
  );
}
