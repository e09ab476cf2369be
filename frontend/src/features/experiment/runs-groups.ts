import type { RunSummary } from "@/lib/client/types.gen";
import { isTerminal } from "@/lib/ui/states";

/** The runs of one variant on one cluster with one number of workers, and what its reported ones show together. */
export interface RunGroup {
  readonly key: string;
  /** One of them, for what all have in common. */
  readonly first: RunSummary;
  readonly runs: readonly RunSummary[];
  readonly ended: number;
  readonly failed: number;
  /** Mean share of the budget that was used. */
  readonly share: number;
  /**
   * Median over those that met the target, and those that ended by themselves without it, which take longer; null if
   * these are half of them or more, as in the comparison. Of how many reported ones.
   */
  readonly time: number | null;
  readonly reached: number;
  readonly reported: number;
  /** Means over the reported runs that have a value. */
  readonly accuracy: number | null;
  readonly test: number | null;
  readonly communication: number | null;
  /** Mean over those that have ended, J. */
  readonly energy: number | null;
}

/** A row of the table: a group, or one of its runs where it is open. */
export type Entry =
  | { readonly kind: "group"; readonly key: string; readonly group: RunGroup; readonly open: boolean }
  | { readonly kind: "run"; readonly key: string; readonly run: RunSummary };

const FAILED = new Set(["failed_user", "failed_infra"]);
const FINISHED = new Set(["succeeded", "timed_out"]);

function known(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null);
}

function mean(values: readonly (number | null)[]): number | null {
  const found = known(values);
  return found.length === 0 ? null : found.reduce((sum, value) => sum + value, 0) / found.length;
}

function median(values: readonly (number | null)[]): number | null {
  const found = known(values).sort((a, b) => a - b);
  const low = found[Math.floor((found.length - 1) / 2)];
  const high = found[Math.floor(found.length / 2)];
  return low === undefined || high === undefined || high === Number.POSITIVE_INFINITY
    ? null
    : (low + high) / 2;
}

function timeToTarget({ state, time_to_target: time }: RunSummary): number | null {
  return time === null && FINISHED.has(state) ? Number.POSITIVE_INFINITY : time;
}

function summed(key: string, first: RunSummary, runs: readonly RunSummary[]): RunGroup {
  const reported = runs.filter((run) => run.rung === null);
  const times = reported.map((run) => run.time_to_target);
  return {
    ...{ key, first, runs, reported: reported.length },
    ended: runs.filter((run) => isTerminal(run.state)).length,
    failed: runs.filter((run) => FAILED.has(run.state)).length,
    share: mean(runs.map((run) => Math.min(1, run.samples / Math.max(1, run.budget)))) ?? 0,
    time: median(reported.map(timeToTarget)),
    reached: known(times).length,
    accuracy: mean(reported.map((run) => run.accuracy)),
    test: mean(reported.map((run) => run.test_accuracy)),
    communication: mean(reported.map((run) => run.communication_fraction)),
    energy: mean(reported.map((run) => (isTerminal(run.state) ? (run.energy_j ?? null) : null))),
  };
}

/** Runs by variant and place, variants in the order of the specification; within a group as they were. */
export function groupsOfRuns(runs: readonly RunSummary[], variants: readonly string[]): RunGroup[] {
  const found = new Map<string, RunSummary[]>();
  for (const run of runs) {
    const key = `${run.cluster}/${run.workers}/${run.variant}`;
    const same = found.get(key);
    if (same) same.push(run);
    else found.set(key, [run]);
  }
  return [...found]
    .flatMap(([key, same]) => (same[0] ? summed(key, same[0], same) : []))
    .sort((a, b) => variants.indexOf(a.first.variant) - variants.indexOf(b.first.variant));
}

/** The rows of the table: every run, or groups with the runs of those that are open. */
export function entriesOf(
  runs: readonly RunSummary[],
  groups: readonly RunGroup[] | undefined,
  open: ReadonlySet<string>,
): Entry[] {
  const rows = (of: readonly RunSummary[]): Entry[] => of.map((run) => ({ kind: "run", key: run.id, run }));
  if (!groups) return rows(runs);
  return groups.flatMap((group) => [
    { kind: "group" as const, key: group.key, group, open: open.has(group.key) },
    ...(open.has(group.key) ? rows(group.runs) : []),
  ]);
}
