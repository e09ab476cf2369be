import own from "./state-badge.module.css";
import { isTerminal, stateLook, type Tone } from "./states";
import styles from "./ui.module.css";

interface StateBadgeProps {
  state: string;
  testId?: string;
  /** In place of its meaning, on hover. */
  note?: string;
  /** Cancel was requested: shown at once, while its processes are still ending. */
  cancelling?: boolean;
  outcome?: { label: string; tone: Tone };
}

/** A state as a dot and a word, and the outcome where there is one; on hover its meaning, or a note of more than that. */
export function StateBadge({ state, testId, note, cancelling = false, outcome }: StateBadgeProps) {
  const ending = cancelling && !isTerminal(state);
  const { label, tone, meaning } = ending
    ? { label: "cancelling", tone: "live", meaning: "Cancel was requested; its processes are ending." }
    : stateLook(state);
  return (
    <span
      className={`${styles.state} ${styles[outcome?.tone ?? tone]}`}
      title={note ?? meaning}
      data-testid={testId}
      data-state={state}
    >
      <span className={styles.dot} />
      {label}
      {outcome && <span className={own.outcome}>{outcome.label}</span>}
    </span>
  );
}
