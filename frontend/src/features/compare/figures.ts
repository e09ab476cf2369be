import type { ComparedRow, Estimate } from "@/lib/client/types.gen";
import { formatJoules } from "@/lib/format/energy";
import {
  formatBytes,
  formatCompact,
  formatCount,
  formatNumber,
  formatPercent,
  formatPercentTick,
} from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import type { FigureKey } from "./search";

/** A figure of a row, and how far seeds spread around it. */
export interface Spread {
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
}

export interface FigureOf {
  readonly key: FigureKey;
  readonly title: string;
  /** The second line of its column: what the number is. */
  readonly what: string;
  /** Which end of its axis one wants to be at. */
  readonly better: "low" | "high";
  readonly of: (row: ComparedRow) => Spread | null;
  readonly format: (value: number | null) => string;
  readonly tick: (value: number) => string;
  /** The greatest value that there can be. */
  readonly limit?: number;
}

function estimate({ mean, low, high }: Estimate): Spread | null {
  return mean === null ? null : { value: mean, low, high };
}

/** The median; a row of which half of the seeds or more missed the target has none. */
function time({ time_to_target: time }: ComparedRow): Spread | null {
  return time?.median === null || time === null
    ? null
    : { value: time.median, low: time.low, high: time.high };
}

const share = { format: (value: number | null) => formatPercent(value), tick: formatPercentTick, limit: 1 };

/** What rows are compared by: the columns of the table, and the axes of the chart. */
export const FIGURES: readonly FigureOf[] = [
  {
    key: "time",
    title: "Time to target",
    what: "median",
    better: "low",
    of: time,
    format: formatSeconds,
    tick: (value) => formatNumber(value),
  },
  {
    key: "samples",
    title: "Samples",
    what: "per run",
    better: "low",
    of: (row) => estimate(row.samples),
    format: formatCount,
    tick: formatCompact,
  },
  {
    key: "exposed",
    title: "Exposed communication",
    what: "share of time",
    better: "low",
    of: (row) => estimate(row.communication_fraction),
    ...share,
  },
  {
    key: "bytes",
    title: "Bytes sent",
    what: "per run",
    better: "low",
    of: (row) => estimate(row.wire),
    format: formatBytes,
    tick: formatBytes,
  },
  {
    key: "energy",
    title: "Energy",
    what: "whole machine, per run",
    better: "low",
    of: (row) => estimate(row.energy),
    format: formatJoules,
    tick: formatJoules,
  },
  {
    key: "best",
    title: "Best accuracy",
    what: "of all evaluations",
    better: "high",
    of: (row) => estimate(row.best_accuracy),
    ...share,
  },
  {
    key: "target",
    title: "Accuracy at the target",
    what: "when it was met",
    better: "high",
    of: (row) => estimate(row.target_accuracy),
    ...share,
  },
  {
    key: "test",
    title: "Test accuracy",
    what: "scored once",
    better: "high",
    of: (row) => estimate(row.test_accuracy),
    ...share,
  },
];

export function figure(key: FigureKey): FigureOf {
  const found = FIGURES.find((one) => one.key === key);
  if (!found) throw new Error(`No figure is called ${key}.`);
  return found;
}

/** The figure with its unit; virtual seconds are always called so. */
export function axisTitle({ key, title }: FigureOf, simulated: boolean): string {
  if (key === "energy") return `${title} (J)`;
  return key === "time" ? `${title} (${simulated ? "virtual s" : "s"})` : title;
}

/** Rows in the order of a figure; those without it come last. */
export function sorted(
  rows: readonly ComparedRow[],
  key: FigureKey | undefined,
  down: boolean,
): readonly ComparedRow[] {
  if (!key) return rows;
  const { of } = figure(key);
  const none = down ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const value = (row: ComparedRow) => of(row)?.value ?? none;
  const order = (a: number, b: number) => (a === b ? 0 : a < b ? -1 : 1);
  return [...rows].sort((a, b) => (down ? order(value(b), value(a)) : order(value(a), value(b))));
}
