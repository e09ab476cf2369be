import { progress, STATE_ORDER, stateLook, type Tone } from "./states";
import styles from "./ui.module.css";

const TONES: Record<Tone, string> = {
  good: "var(--hk-good)",
  bad: "var(--hk-bad)",
  warn: "var(--hk-warn)",
  live: "var(--hk-amber)",
  off: "var(--hk-ink-3)",
  quiet: "transparent",
};

/** Runs by state as a thin segmented bar. */
export function RunBar({ runs }: { runs: Partial<Record<string, number>> }) {
  const { done, all } = progress(runs);
  const parts = STATE_ORDER.filter((state) => (runs[state] ?? 0) > 0);
  const words = parts.map((state) => `${runs[state]} ${stateLook(state).label}`).join(", ");
  return (
    <div
      className={styles.bar}
      role="img"
      aria-label={`${done} of ${all} runs ended: ${words}`}
      title={words}
    >
      {parts.map((state) => (
        <span key={state} style={{ flex: runs[state], background: TONES[stateLook(state).tone] }} />
      ))}
    </div>
  );
}
