import { useEffect, useRef } from "react";
import { watchNear } from "@/lib/charts/use-near";
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
      {(outcome?.tone ?? tone) === "live" ? <LiveDot /> : <span className={styles.dot} />}
      {label}
      {outcome && <span className={own.outcome}>{outcome.label}</span>}
    </span>
  );
}

/**
 * The dot of something that goes on. Out of view it stands still: what moves there has the browser put together the layers of the whole
 * page for each frame.
 */
function LiveDot() {
  const dot = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const element = dot.current;
    return element ? watchNear(element, (near) => element.toggleAttribute("data-away", !near)) : undefined;
  }, []);
  return <span ref={dot} className={`${styles.dot} ${own.moving}`} data-away />;
}
