import type { ChartSeries } from "./series";
import type { Zoom } from "./zoom";

/** A range without the values that are far from all others. */
type Range = readonly [number, number];

/** The share of the values that may lie beyond, at either end. */
const FEW = 0.05;
/** Below as many values nothing is far: a few points are seen one by one. */
const LEAST = 10;
/** So many times as high as the rest, an axis leaves the rest no height. */
const HIGH = 20;
/** What is as many heights of the rest away from it is far. */
const FAR = 2;
/** Values of a sample, from which the rest is told. */
const SAMPLE = 1000;

/** Calls with every value in view, and where it is. */
export function eachInView(
  series: readonly ChartSeries[],
  zoom: Zoom | undefined,
  take: (value: number, x: number, of: ChartSeries) => void,
): void {
  for (const one of series) {
    for (let i = 0; i < one.y.length; i += 1) {
      const [value, at] = [one.y[i], one.x[i]];
      if (value === null || value === undefined || at === undefined || Number.isNaN(value)) continue;
      if (zoom && (at < zoom[0] || at > zoom[1])) continue;
      take(value, at, one);
    }
  }
}

/**
 * The ends of most values in view; undefined where all are. At either end one value, or one of twenty, is left out if it is
 * far from the rest and an axis to all of them would be twenty times as high as the rest.
 */
export function mostValues(series: readonly ChartSeries[], zoom: Zoom | undefined): Range | undefined {
  let [count, least, greatest] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  eachInView(series, zoom, (value) => {
    count += 1;
    least = Math.min(least, value);
    greatest = Math.max(greatest, value);
  });
  if (count < LEAST) return undefined;
  const step = Math.ceil(count / SAMPLE);
  const sample: number[] = [];
  let at = 0;
  eachInView(series, zoom, (value) => {
    if (at % step === 0) sample.push(value);
    at += 1;
  });
  sample.sort((a, b) => a - b);
  const few = Math.max(1, Math.floor(sample.length * FEW));
  const [low, high] = [sample[few], sample[sample.length - 1 - few]];
  if (low === undefined || high === undefined || high <= low) return undefined;
  const height = high - low;
  if (greatest - least < HIGH * height) return undefined;
  const [from, to] = [low - FAR * height, high + FAR * height];
  let ends: [number, number] = [low, high];
  eachInView(series, zoom, (value) => {
    if (value >= from && value <= to) ends = [Math.min(ends[0], value), Math.max(ends[1], value)];
  });
  return ends;
}

/** A value that the axis leaves out. */
export interface Beyond {
  readonly x: number;
  readonly above: boolean;
  readonly style: ChartSeries["style"];
}

export interface WithBeyond {
  readonly series: readonly ChartSeries[];
  readonly zoom?: Zoom;
  readonly clamp?: readonly [number, number];
  readonly log?: boolean;
  /** All values are shown. */
  readonly whole?: boolean;
}

/** The values in view that the axis of a chart leaves out, in the order of its curves. */
export function beyondOf({ series, zoom, clamp, log, whole }: WithBeyond): Beyond[] {
  const ends = whole || clamp || log ? undefined : mostValues(series, zoom);
  if (!ends) return [];
  const found: Beyond[] = [];
  eachInView(series, zoom, (value, x, { style }) => {
    if (value < ends[0] || value > ends[1]) found.push({ x, above: value > ends[1], style });
  });
  return found;
}
