import type { SearchView, Space, TrialView, TuningView } from "@/lib/client/types.gen";
import { formatCount, formatPercent } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { formatValue } from "@/lib/spaces/words";

/** What a search is judged by: the time to the target, or without one the accuracy at the end. */
export type Measure = "seconds" | "accuracy";

/** `met`: it has a figure; `missed`: the target, within its budget; `open`: it has runs to come. */
export type Outcome = "met" | "missed" | "failed" | "open";

export function outcomeOf(trial: TrialView, measure: Measure): Outcome {
  if (trial[measure] !== null) return "met";
  if (trial.failed > 0) return "failed";
  return trial.rank === null ? "open" : "missed";
}

export function formatFigure(value: number | null, measure: Measure): string {
  return measure === "seconds" ? formatSeconds(value) : formatPercent(value, 2);
}

export function measureTitle(measure: Measure, simulated: boolean): string {
  if (measure === "accuracy") return "Validation accuracy";
  return `Time to target (${simulated ? "virtual s" : "s"})`;
}

/** The trials, the best first; those without a result last. */
export function byRank(trials: readonly TrialView[]): TrialView[] {
  const place = (trial: TrialView) => trial.rank ?? Number.POSITIVE_INFINITY;
  return [...trials].sort((a, b) => (place(a) === place(b) ? a.trial - b.trial : place(a) - place(b)));
}

/** "Trial 5, rank 1: lr 0.0213, momentum 0.62; 3.1 s". */
export function trialWords(trial: TrialView, measure: Measure): string {
  const setting = Object.entries(trial.parameters).map(([name, value]) => `${name} ${formatValue(value)}`);
  const rank = trial.rank === null ? "" : `, rank ${trial.rank}`;
  const outcome = outcomeOf(trial, measure);
  const shown = outcome === "met" ? formatFigure(trial[measure], measure) : MISSING[outcome];
  return `Trial ${trial.trial}${rank}: ${setting.join(", ")}; ${shown}`;
}

const MISSING = { missed: "missed the target", failed: "failed", open: "has not ended" } as const;

/** The wider spaces of searches, by variant; where several places widen a space, one that has all of it. */
export function widerOf(
  searches: readonly SearchView[],
): { variant: string; spaces: Record<string, Space> }[] {
  const found = new Map<string, Record<string, Space>>();
  for (const { variant, wider } of searches) {
    const spaces = found.get(variant) ?? {};
    for (const [name, space] of Object.entries(wider)) spaces[name] = union(spaces[name], space);
    if (Object.keys(spaces).length > 0) found.set(variant, spaces);
  }
  return [...found].map(([variant, spaces]) => ({ variant, spaces }));
}

function union(one: Space | undefined, other: Space): Space {
  if (other.choices) return { ...other, choices: [...new Set([...(one?.choices ?? []), ...other.choices])] };
  const end = (name: "low" | "high", outer: (...values: number[]) => number) =>
    outer(Number(one?.[name] ?? other[name]), Number(other[name]));
  return { ...other, low: end("low", Math.min), high: end("high", Math.max) };
}

export interface Progress {
  readonly ended: number;
  /** The largest number of runs; trials that met the target early are not run again. */
  readonly most: number;
  /** The first rung on which a search still is, from 1. */
  readonly rung: number;
}

export function progressOf(tuning: TuningView): Progress {
  const trials = tuning.searches.flatMap(ownTrials);
  const going = tuning.searches.filter((search) => !search.ended);
  const rungs = going.map((search) => Math.max(0, ...ownTrials(search).map((trial) => trial.rung)));
  return {
    ended: trials.reduce((sum, trial) => sum + trial.runs.length - trial.open, 0),
    most: tuning.searches.reduce((sum, search) => sum + runsOf(search, tuning), 0),
    rung: 1 + (rungs.length > 0 ? Math.min(...rungs) : tuning.rungs.length - 1),
  };
}

/** The trials that this experiment has made, without those of the ones that it continues. */
function ownTrials(search: SearchView): TrialView[] {
  return search.trials.slice(search.earlier_trials);
}

function runsOf(search: SearchView, { rungs, seeds }: TuningView): number {
  const trials = rungs.map((rung) => Math.min(rung.trials, ownTrials(search).length));
  return seeds.length * trials.reduce((sum, count) => sum + count, 0);
}

/** "8 trials of 5,000 samples, then the best 4 of 10,000". */
export function ladderWords({ rungs, seeds }: TuningView): string {
  const [first, ...rest] = rungs;
  if (!first) return "";
  const each = seeds.length > 1 ? `, ${seeds.length} seeds each` : "";
  const then = rest.map(({ trials, samples }) => `the best ${trials} with ${formatCount(samples)}`);
  return `${[`${first.trials} trials with ${formatCount(first.samples)} samples`, ...then].join(", then ")}${each}`;
}
