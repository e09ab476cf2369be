import type { RunState } from "@/lib/client/types.gen";
import styles from "./run-bar.module.css";
import { progress, STATE_ORDER, stateLook, type Tone } from "./states";

const TONES: Record<Tone, string> = {
  done: "var(--hk-accent)",
  good: "var(--hk-good)",
  bad: "var(--hk-bad)",
  warn: "var(--hk-warn)",
  live: "transparent",
  off: "var(--hk-ink-3)",
  quiet: "transparent",
};

/** What has ended is filled, what runs is hatched, and what waits or starts is empty. */
function fill(state: RunState): { background?: string } {
  return state === "running" ? {} : { background: TONES[stateLook(state).tone] };
}

/** Runs by state as a thin segmented bar: as full as there are runs that have ended. */
export function RunBar({ runs }: { runs: Partial<Record<string, number>> }) {
  const { done, all } = progress(runs);
  const parts = STATE_ORDER.filter((state) => (runs[state] ?? 0) > 0);
  const counts = new Map<string, number>();
  for (const state of parts) {
    const { label } = stateLook(state);
    counts.set(label, (counts.get(label) ?? 0) + (runs[state] ?? 0));
  }
  const words = [...counts].map(([label, count]) => `${count} ${label}`).join(", ");
  return (
    <div
      className={styles.bar}
      role="img"
      aria-label={`${done} of ${all} runs ended: ${words}`}
      title={words}
    >
      {parts.map((state) => (
        <span
          key={state}
          className={state === "running" ? styles.going : undefined}
          style={{ flex: runs[state], ...fill(state) }}
        />
      ))}
    </div>
  );
}
