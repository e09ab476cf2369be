import type { ChartSeries } from "@/lib/charts/series";
import { lastUpTo } from "./band-series";

/** The line of a variant in a chart: the middle of its seeds, and how many of them are behind each point. */
export interface LegendLine {
  readonly line: ChartSeries;
  readonly x: readonly number[];
  readonly n: readonly number[];
}

/** What a line says at one of its points. */
export interface LegendValue {
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly seeds: number;
}

/** The point of a line that is nearest to an x; without an x its last one. Undefined: it has none there. */
export function readAt({ line, x, n }: LegendLine, at: number | undefined): LegendValue | undefined {
  const i = at === undefined ? lastKnown(line) : nearest(x, at);
  const value = i === undefined ? null : (line.y[i] ?? null);
  if (i === undefined || value === null) return undefined;
  return { value, low: line.low?.[i] ?? null, high: line.high?.[i] ?? null, seeds: n[i] ?? 0 };
}

/** Whether a line has a value before an x, and none from there on. */
export function endsBefore({ line, x }: LegendLine, at: number | undefined): boolean {
  const last = lastKnown(line);
  return at !== undefined && last !== undefined && (x[last] ?? at) < at;
}

function lastKnown({ y }: ChartSeries): number | undefined {
  for (let i = y.length - 1; i >= 0; i -= 1) if ((y[i] ?? null) !== null) return i;
  return undefined;
}

/** Undefined before the first x and behind the last one. */
function nearest(x: readonly number[], at: number): number | undefined {
  const before = lastUpTo(x, at);
  const [left, right] = [x[before], x[before + 1]];
  if (left === undefined || left === at) return left === undefined ? undefined : before;
  if (right === undefined) return undefined;
  return right - at < at - left ? before + 1 : before;
}

/** "96.1% to 97.0%"; a unit that both have stands at neither. Empty without an interval. */
export function rangeText(
  { low, high }: LegendValue,
  format: (value: number) => string,
  unit: string,
): string {
  if (low === null || high === null) return "";
  const bare = (value: number) => {
    const text = format(value);
    return unit && text.endsWith(unit) ? text.slice(0, -unit.length) : text;
  };
  return `${bare(low)} to ${bare(high)}`;
}
