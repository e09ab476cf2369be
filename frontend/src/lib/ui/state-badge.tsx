import { stateLook } from "./states";
import styles from "./ui.module.css";

/** A state as a dot and a word; its meaning on hover. */
export function StateBadge({ state, testId }: { state: string; testId?: string }) {
  const look = stateLook(state);
  return (
    <span
      className={`${styles.state} ${styles[look.tone]}`}
      title={look.meaning}
      data-testid={testId}
      data-state={state}
    >
      <span className={styles.dot} />
      {look.label}
    </span>
  );
}
