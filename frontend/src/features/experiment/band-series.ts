import type { ChartSeries } from "@/lib/charts/series";
import type { Band } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";

/** With two seeds the t interval is 13 times as wide as their spread: drawn, it says nothing and hides all. */
const LEAST_SEEDS = 3;

type Values = (number | null)[];
interface Parts {
  mean: Values;
  low: Values;
  high: Values;
  /** The last x that every seed has; undefined if they have none in common. */
  end: number | undefined;
}

const known = new WeakMap<Band["mean"], Parts>();

/**
 * The mean as far as all seeds go: behind the end of one it would be that of the others, and jump. The same band
 * always gives the same arrays, so that a chart sees what did not change.
 */
export function partsOf({ x, mean, low, high, n }: Band): Parts {
  const before = known.get(mean);
  if (before) return before;
  const all = n.reduce((most, count) => Math.max(most, count), 0);
  const of = (values: Band["mean"], least: number) =>
    values.map((value, i) => (n[i] === all && all >= least ? value : null));
  const parts = {
    mean: of(mean, 1),
    low: of(low, LEAST_SEEDS),
    high: of(high, LEAST_SEEDS),
    end: all > 0 ? x[n.lastIndexOf(all)] : undefined,
  };
  known.set(mean, parts);
  return parts;
}

/** Position of an x in an ascending column; undefined if it is none of them. */
function positionOf(x: readonly number[], value: number): number | undefined {
  const i = lastUpTo(x, value);
  return x[i] === value ? i : undefined;
}

/** Position of the last x that is not beyond a value; -1: all are. */
export function lastUpTo(x: readonly number[], value: number): number {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The interval and the number of seeds behind a point. */
function detailOf(band: Band, format: (value: number) => string) {
  return (x: number) => {
    const i = positionOf(band.x, x);
    const n = i === undefined ? undefined : band.n[i];
    if (i === undefined || !n) return "";
    const seeds = `${n} ${n === 1 ? "seed" : "seeds"}`;
    const [low, high] = [band.low[i], band.high[i]];
    const shown =
      n >= LEAST_SEEDS && low !== null && low !== undefined && high !== null && high !== undefined;
    return shown ? `${format(low)} to ${format(high)}, ${seeds}` : seeds;
  };
}

/** The mean of a variant with its interval; it ends where its first seed does. */
export function meanSeries(band: Band, index: number, format: (value: number) => string): ChartSeries {
  const { mean, low, high } = partsOf(band);
  const detail = detailOf(band, format);
  return { label: band.variant, style: variantStyle(index), x: band.x, y: mean, low, high, detail };
}

/** What one seed was evaluated to. */
export interface SeedCurve {
  readonly run: string;
  /** Undefined: not known yet. */
  readonly seed: number | undefined;
  readonly x: readonly number[];
  readonly y: readonly (number | null)[];
}

const labelOf = (band: Band, { seed }: SeedCurve) =>
  seed === undefined ? `${band.variant}, one seed` : `${band.variant}, seed ${seed}`;

/** Every seed of a variant, from its beginning to its end. */
export function seedSeries(band: Band, seeds: readonly SeedCurve[], index: number): ChartSeries[] {
  const style = variantStyle(index);
  return seeds.map((one) => ({ label: labelOf(band, one), style, x: one.x, y: one.y, thin: true }));
}

const tails = new WeakMap<readonly number[], { end: number; x: number[]; y: Values }>();

/** Each seed from where the mean ends; nothing of those that end there. */
export function tailSeries(band: Band, seeds: readonly SeedCurve[], index: number): ChartSeries[] {
  const { end } = partsOf(band);
  if (end === undefined) return [];
  const style = variantStyle(index);
  return seeds.flatMap((one) => {
    const { x, y } = tailOf(one, end);
    return x.length > 1 ? [{ label: labelOf(band, one), style, x, y, faint: true }] : [];
  });
}

/** From the last evaluation before the end on, so that the line begins at the mean's side. */
function tailOf({ x, y }: SeedCurve, end: number) {
  const before = tails.get(x);
  if (before?.end === end) return before;
  const from = Math.max(0, lastUpTo(x, end));
  const tail = { end, x: x.slice(from), y: y.slice(from) };
  tails.set(x, tail);
  return tail;
}
