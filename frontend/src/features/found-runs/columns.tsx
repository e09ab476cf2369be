import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { RunSummary } from "@/lib/client/types.gen";
import { formatCount, formatNumber, formatPercent } from "@/lib/format/numbers";
import { formatMoment, formatSeconds } from "@/lib/format/time";
import { experimentOf } from "@/lib/keeping/experiment-of";
import type { Column } from "@/lib/ui/columns";
import { StateBadge } from "@/lib/ui/state-badge";
import { Tag } from "@/lib/ui/tag";

export interface RunColumn extends Column {
  readonly cell: (run: RunSummary) => ReactNode;
  /** What the API sorts by; without it, it does not. */
  readonly sort?: string;
  readonly number?: boolean;
}

const placeOf = (run: RunSummary) => (
  <>
    {run.cluster} {run.simulated && <Tag kind="simulated" />}
    {run.oversubscribed && <Tag kind="oversubscribed" />}
  </>
);

const percent = (value: number | null) => formatPercent(value, 2);

function figure(key: string, title: string, cell: (run: RunSummary) => ReactNode, usual = true): RunColumn {
  return { key, title, cell, usual, sort: key, number: true };
}

/** Simulated seconds stand among real ones. */
function timeOf({ time_to_target: time, simulated }: RunSummary) {
  return `${formatSeconds(time)}${simulated && time !== null ? " (simulated)" : ""}`;
}

export const COLUMNS: readonly RunColumn[] = [
  { key: "variant", title: "Variant", usual: true, cell: (run) => run.variant },
  { key: "algorithm", title: "Algorithm", usual: false, cell: (run) => run.algorithm },
  { key: "cluster", title: "Cluster", usual: true, cell: placeOf },
  figure("workers", "Workers", (run) => run.workers),
  figure("seed", "Seed", (run) => run.seed),
  { key: "state", title: "State", usual: true, cell: (run) => <StateBadge state={run.state} /> },
  figure("accuracy", "Accuracy", (run) => percent(run.accuracy)),
  figure("test_accuracy", "Test accuracy", (run) => percent(run.test_accuracy)),
  figure("time_to_target", "Time to target", timeOf),
  figure("loss", "Loss", (run) => formatNumber(run.loss), false),
  figure("test_loss", "Test loss", (run) => formatNumber(run.test_loss), false),
  figure("communication_fraction", "Communication", (run) => percent(run.communication_fraction), false),
  figure("staleness", "Staleness", (run) => formatNumber(run.staleness), false),
  figure("samples", "Samples", (run) => formatCount(run.samples), false),
  {
    ...{ key: "experiment", title: "Experiment", usual: false },
    cell: (run) => (
      <Link to="/experiments/$experimentId" params={{ experimentId: run.experiment_id }}>
        {experimentOf(run) ?? "its experiment"}
      </Link>
    ),
  },
  {
    key: "created",
    title: "Submitted",
    usual: false,
    cell: (run) => formatMoment(run.created_at),
    sort: "created",
  },
];
