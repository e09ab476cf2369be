import type { RunSummary } from "@/lib/client/types.gen";
import { outcomeOf, stateLook } from "@/lib/ui/states";
import { energyText } from "./energy";

/** What may be wide of a run, in letters; a run that waits also says what it waits for. */
const WIDTHS: readonly ((run: RunSummary) => number)[] = [
  (run) => String(run.number).length + (run.attempt > 1 ? 10 : 0),
  (run) => run.variant.length,
  (run) => run.algorithm.length,
  (run) =>
    run.cluster.length +
    [run.simulated, run.oversubscribed, run.overlap !== null].filter(Boolean).length * 12,
  (run) =>
    stateLook(run.state).label.length +
    (outcomeOf(run, true)?.label.length ?? 0) +
    (run.waiting ? 30 + run.waiting.reason.length : 0),
  (run) => (run.time_to_target !== null ? (run.simulated ? 2 : 1) : 0),
  (run) => (run.rung === null ? 1 : 0),
  (run) => energyText(run).text.length + energyText(run).aside.length,
];

/** Of many runs, those that make a column as wide as it is with all of them. */
export function widest(runs: readonly RunSummary[]): RunSummary[] {
  const found = WIDTHS.flatMap((width) => {
    let most: RunSummary | undefined;
    for (const run of runs) if (!most || width(run) > width(most)) most = run;
    return most ?? [];
  });
  return [...new Set(found)];
}
