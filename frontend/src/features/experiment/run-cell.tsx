import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { RunSummary, WaitingView } from "@/lib/client/types.gen";
import { formatCount, formatNumber, formatPercent } from "@/lib/format/numbers";
import { accuracyLabel } from "@/lib/format/quantities";
import { formatMoment, formatSeconds } from "@/lib/format/time";
import { placeOf, predicted, reasonOf } from "@/lib/queue/waiting-note";
import { SelectBox } from "@/lib/ui/select-box";
import { StateBadge } from "@/lib/ui/state-badge";
import { outcomeOf } from "@/lib/ui/states";
import { Tag } from "@/lib/ui/tag";
import { useNow } from "@/lib/ui/use-now";
import { VariantChip } from "@/lib/ui/variant-chip";
import { energyText } from "./energy";
import styles from "./experiment.module.css";
import { type RunKey, secondsOf } from "./runs-order";

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

/** How much of something is done, as a bar. */
export function Meter({ share, title }: { share: number; title: string }) {
  return (
    <span className={styles.meter} title={title}>
      <span style={{ width: `${share * 100}%` }} />
    </span>
  );
}

interface Of {
  run: RunSummary;
  /** Place of its variant, which gives the colour. */
  variant: number;
  hasTarget: boolean;
  selected: boolean;
  select: (id: string, on: boolean) => void;
}

/** What a run has in a column. */
export const CELLS: Record<RunKey, (of: Of) => ReactNode> = {
  run: ({ run, selected, select }) => (
    <>
      <SelectBox run={run} selected={selected} select={select} />
      <Link to="/runs/$runId" params={{ runId: run.id }} className={styles.runLink}>
        #{run.number}
        {run.attempt > 1 && <span className={styles.quiet}> attempt {run.attempt}</span>}
      </Link>
    </>
  ),
  variant: ({ run, variant }) => <VariantChip name={run.variant} index={variant} />,
  method: ({ run }) => run.algorithm,
  trial: ({ run }) => trialOf(run),
  cluster: ({ run }) => (
    <>
      {run.cluster} <span className={styles.quiet}>× {run.workers}</span>{" "}
      {run.simulated && <Tag kind="simulated" />}
      {run.oversubscribed && <Tag kind="oversubscribed" />}
      {run.overlap !== null && <Tag kind="overlapped" />}
    </>
  ),
  seed: ({ run }) => run.seed,
  state: ({ run, hasTarget }) => (
    <>
      <StateBadge
        state={run.state}
        cancelling={run.cancel_requested}
        note={run.waiting ? reasonOf(run.waiting) : undefined}
        outcome={outcomeOf(run, hasTarget)}
      />
      {run.waiting && <Waits waiting={run.waiting} />}
    </>
  ),
  started: ({ run }) => formatMoment(run.started_at),
  duration: ({ run }) => formatSeconds(secondsOf(run)),
  budget: ({ run }) => {
    const share = Math.min(1, run.samples / Math.max(1, run.budget));
    return <Meter share={share} title={`${formatPercent(share)} of the budget`} />;
  },
  samples: ({ run }) => formatCount(run.samples),
  accuracy: ({ run }) => (
    <span title={accuracyLabel(run.evaluated_part)}>{formatPercent(run.accuracy, 2)}</span>
  ),
  loss: ({ run }) => formatNumber(run.loss, 4),
  test: ({ run }) => formatPercent(run.test_accuracy, 2),
  test_loss: ({ run }) => formatNumber(run.test_loss, 4),
  time: ({ run }) => (
    <>
      {formatSeconds(run.time_to_target)}
      {run.simulated && run.time_to_target !== null && <span className={styles.quiet}> virtual</span>}
    </>
  ),
  communication: ({ run }) => formatPercent(run.communication_fraction),
  staleness: ({ run }) => formatNumber(run.staleness),
  energy: ({ run }) => {
    const { text, aside, note } = energyText(run);
    return (
      <span title={note || undefined}>
        {text} {aside && <span className={styles.quiet}>{aside}</span>}
      </span>
    );
  },
};
