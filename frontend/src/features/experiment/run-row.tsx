import { Link } from "@tanstack/react-router";
import { memo } from "react";
import type { RunSummary, WaitingView } from "@/lib/client/types.gen";
import { formatPercent } from "@/lib/format/numbers";
import { accuracyLabel } from "@/lib/format/quantities";
import { formatSeconds } from "@/lib/format/time";
import { placeOf, predicted, reasonOf } from "@/lib/queue/waiting-note";
import { StateBadge } from "@/lib/ui/state-badge";
import { outcomeOf } from "@/lib/ui/states";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import { useNow } from "@/lib/ui/use-now";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./experiment.module.css";

/** "5, rung 1" of a trial; of a reported run, the trial whose setting it has. */
function trialOf(run: RunSummary) {
  if (run.rung !== null) return `${run.trial}, rung ${run.rung + 1}`;
  return <span className={styles.quiet}>setting of trial {run.trial}</span>;
}

/** "4th in queue, starts about 14:05". */
function Waits({ waiting }: { waiting: WaitingView }) {
  const now = useNow();
  const when = waiting.starts && predicted({ starts: waiting.starts, ends: null }, now);
  return <span className={styles.quiet}> {[placeOf(waiting), when].filter(Boolean).join(", ")}</span>;
}

interface RunRowProps {
  run: RunSummary;
  /** Place of its variant, which gives the colour. */
  variant: number;
  tuned: boolean;
  hasTarget: boolean;
  /** Where rows are left out: which one this is, and what measures it. */
  index?: number;
  measure?: (row: Element | null) => void;
  /** Has the width of its cells and no height. */
  unseen?: boolean;
}

/** One run of the table. */
export const RunRow = memo(function RunRow({
  run,
  variant,
  tuned,
  hasTarget,
  index,
  measure,
  unseen,
}: RunRowProps) {
  const share = Math.min(1, run.samples / Math.max(1, run.budget));
  return (
    <tr
      ref={measure}
      data-index={index}
      aria-rowindex={index === undefined ? undefined : index + 2} // the head is the first
      aria-hidden={unseen}
      style={unseen ? { visibility: "collapse" } : undefined}
      data-testid={unseen ? undefined : "run-row"}
      data-state={run.state}
    >
      <td>
        <Link to="/runs/$runId" params={{ runId: run.id }} className={styles.runLink}>
          #{run.number}
          {run.attempt > 1 && <span className={styles.quiet}> attempt {run.attempt}</span>}
        </Link>
      </td>
      <td>
        <VariantChip name={run.variant} index={variant} />
      </td>
      {tuned && <td>{trialOf(run)}</td>}
      <td>
        {run.cluster} <span className={styles.quiet}>× {run.workers}</span>{" "}
        {run.simulated && <Tag kind="simulated" />}
        {run.oversubscribed && <Tag kind="oversubscribed" />}
        {run.overlap !== null && <Tag kind="overlapped" />}
      </td>
      <td className={ui.number}>{run.seed}</td>
      <td>
        <StateBadge
          state={run.state}
          cancelling={run.cancel_requested}
          note={run.waiting ? reasonOf(run.waiting) : undefined}
          outcome={outcomeOf(run, hasTarget)}
        />
        {run.waiting && <Waits waiting={run.waiting} />}
      </td>
      <td>
        <span className={styles.meter} title={`${formatPercent(share)} of the budget`}>
          <span style={{ width: `${share * 100}%` }} />
        </span>
      </td>
      <td className={ui.number} title={accuracyLabel(run.evaluated_part)}>
        {formatPercent(run.accuracy, 2)}
      </td>
      <td className={ui.number}>{formatPercent(run.test_accuracy, 2)}</td>
      <td className={ui.number}>
        {formatSeconds(run.time_to_target)}
        {run.simulated && run.time_to_target !== null && <span className={styles.quiet}> virtual</span>}
      </td>
      <td className={ui.number}>{formatPercent(run.communication_fraction)}</td>
    </tr>
  );
});
