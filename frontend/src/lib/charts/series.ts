import { join } from "@/lib/columns/join";
import type { VariantStyle } from "@/lib/theme/palette";
import { placesOf, split } from "./crowd";
import { eachInView, mostValues } from "./most-values";
import type { Zoom } from "./zoom";

/** One curve, with the ends of its band where it has one. */
export interface ChartSeries {
  readonly label: string;
  readonly style: VariantStyle;
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number | null>;
  /** What a file has in place of `y`, where curves are drawn apart that lie on one another. */
  readonly exact?: ArrayLike<number | null>;
  /** Points that shape the line and are none of its values, as the lower end of a jump: tables and files leave them out. */
  readonly bends?: readonly boolean[];
  readonly low?: ArrayLike<number | null>;
  readonly high?: ArrayLike<number | null>;
  /** Drawn thin and pale: one seed after the mean has ended. */
  readonly faint?: boolean;
  /** Drawn thin: one seed of several. */
  readonly thin?: boolean;
  /** What stands behind a point, for a reader at the pointer: "96.1% to 97.0%, 3 seeds". */
  readonly detail?: (x: number) => string;
}

/** A horizontal line that says what counts as solved. */
export interface TargetLine {
  readonly value: number;
  readonly label: string;
}

/** Where a run met the target: a dot on its line. */
export interface Crossing {
  readonly x: number;
  readonly style: VariantStyle;
}

/** When something was evaluated: small ticks at the foot of the chart. */
export interface Evaluations {
  readonly x: ArrayLike<number>;
  readonly style: VariantStyle;
}

export type ChartData = [number[], ...(number | null | undefined)[][]];

/** Columns for uPlot: x, then y (and high, low) of every series but a crowd, on the union of their x. */
export function chartData(series: readonly ChartSeries[]): ChartData {
  const { own, crowd } = split(series);
  const tables = own.map((one) => ({
    x: one.x,
    ys: one.low && one.high ? [one.y, one.high, one.low] : [one.y],
  }));
  const { x, ys } = join([...tables, ...placesOf(crowd)]);
  return [x, ...ys];
}

/** Pattern of a curve that lies on an equal one, which shows in its gaps. */
const OVER: readonly number[] = [9, 9];

/** The same series; one whose curve equals that of an earlier one has gaps, so that both are seen. */
export function seenThrough(series: readonly ChartSeries[]): readonly ChartSeries[] {
  return series.map((one, i) => {
    const hides = one.y.length > 0 && series.slice(0, i).some((other) => equalCurves(one, other));
    return hides ? { ...one, style: { ...one.style, dash: OVER } } : one;
  });
}

function equalCurves(one: ChartSeries, other: ChartSeries): boolean {
  if (one.faint !== other.faint || one.y.length !== other.y.length) return false;
  let points = 0;
  for (let i = one.y.length - 1; i >= 0; i -= 1) {
    const [a, b] = [one.y[i] ?? null, other.y[i] ?? null];
    if (one.x[i] !== other.x[i] || a !== b) return false;
    if (a !== null) points += 1;
  }
  return points > 0;
}

/** Of the whole range of y, the part at its better end that a close-up shows. */
const CLOSE = 0.15;

/** Relative difference below which two values are one that was rounded. */
const ROUNDING = 1e-9;

const differ = (low: number, high: number) => high - low > ROUNDING * Math.max(Math.abs(low), Math.abs(high));

export interface YLimits {
  readonly target?: number;
  readonly clamp?: readonly [number, number];
  /** Show only the end where curves finish: the top of an accuracy, the bottom of a loss. */
  readonly close?: "top" | "bottom";
  /** Only what lies within counts, and a target only if it does. */
  readonly zoom?: Zoom;
  /** Also values that are far from all others. */
  readonly whole?: boolean;
  /** On a logarithmic scale, on which what is not positive has no place. */
  readonly log?: boolean;
}

/**
 * Limits of y: most values and the target, with room; bands may be cut, because two seeds make huge ones. A share, and
 * what is on a logarithmic scale, is shown whole.
 */
export function yRange(series: readonly ChartSeries[], limits: YLimits): [number, number] {
  if (limits.log) return logRange(series, limits);
  const { clamp, close, zoom } = limits;
  const target = zoom ? undefined : limits.target;
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  eachInView(series, zoom, (value) => {
    low = Math.min(low, value);
    high = Math.max(high, value);
  });
  if (low > high && zoom) return yRange(series, { ...limits, zoom: undefined });
  if (!limits.whole && !clamp) [low, high] = mostValues(series, zoom) ?? [low, high];
  if (target !== undefined) [low, high] = [Math.min(low, target), Math.max(high, target)];
  if (low > high) return clamp ? [clamp[0], clamp[1]] : [0, 1];
  if (close === "top") low = Math.min(high - (high - low) * CLOSE, target ?? high);
  if (close === "bottom") high = Math.max(low + (high - low) * CLOSE, target ?? low);
  const room = (differ(low, high) ? high - low : Math.abs(high) || 1) * 0.08;
  const range: [number, number] = [low - room, high + room];
  return clamp ? [Math.max(clamp[0], range[0]), Math.min(clamp[1], range[1])] : range;
}

/** The same of the logarithms: room and close-up are shares of the height as it is drawn. */
function logRange(series: readonly ChartSeries[], limits: YLimits): [number, number] {
  const log = (value: number | null | undefined) =>
    typeof value === "number" && value > 0 ? Math.log10(value) : null;
  const logs = series.map((one) => ({ ...one, y: Array.from(one.y, log) }));
  const target = log(limits.target) ?? undefined;
  const [low, high] = yRange(logs, { ...limits, target, clamp: undefined, log: false, whole: true });
  return [10 ** low, 10 ** high];
}

/** What a screen reader says of the chart: each curve and where it is now. */
export function describe(
  title: string,
  series: readonly ChartSeries[],
  formatX: (value: number) => string,
  formatY: (value: number) => string,
): string {
  const whole = series.filter((one) => !one.faint);
  const parts = whole.flatMap(({ label, x, y }) => {
    for (let i = y.length - 1; i >= 0; i -= 1) {
      const value = y[i];
      const at = x[i];
      if (value !== null && value !== undefined && at !== undefined && !Number.isNaN(value)) {
        return `${label} ${formatY(value)} at ${formatX(at)}`;
      }
    }
    return [];
  });
  return parts.length > 0 ? `${title}. ${parts.join("; ")}.` : `${title}. No points yet.`;
}
