import type { ChartSeries } from "@/lib/charts/series";
import type { Band } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";
import { lastUpTo, partsOf, type SeedCurve } from "./band-series";

type Values = (number | null)[];
interface Columns {
  readonly median: Values;
  readonly least: Values;
  readonly greatest: Values;
}

/** The value of a seed at an x, between its evaluations on a straight line; null before, behind, and in a gap. */
export function valueAt({ x, y }: Pick<SeedCurve, "x" | "y">, at: number): number | null {
  const i = lastUpTo(x, at);
  const [left, right] = [x[i], x[i + 1]];
  const [from, to] = [y[i] ?? null, y[i + 1] ?? null];
  if (left === undefined || from === null || left === at) return left === undefined ? null : from;
  return right === undefined || to === null ? null : from + ((at - left) / (right - left)) * (to - from);
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return ((low as number) + (high as number)) / 2;
}

const known = new WeakMap<Band["mean"], { ys: readonly SeedCurve["y"][]; columns: Columns }>();

/** The same seeds always give the same arrays, so that a chart sees what did not change. */
function columnsOf(band: Band, seeds: readonly SeedCurve[]): Columns {
  const before = known.get(band.mean);
  if (before && before.ys.length === seeds.length && seeds.every(({ y }, i) => before.ys[i] === y))
    return before.columns;
  const { end } = partsOf(band);
  const columns: { [name in keyof Columns]: Values } = { median: [], least: [], greatest: [] };
  for (const at of band.x) {
    const values = seeds.map((seed) => valueAt(seed, at)).filter((value) => value !== null);
    const all = values.length === seeds.length && end !== undefined && at <= end;
    columns.median.push(all ? medianOf(values) : null);
    columns.least.push(all ? Math.min(...values) : null);
    columns.greatest.push(all ? Math.max(...values) : null);
  }
  known.set(band.mean, { ys: seeds.map(({ y }) => y), columns });
  return columns;
}

/** The median of the seeds of a variant, from the least to the greatest; it ends where its first seed does. */
export function medianSeries(
  band: Band,
  seeds: readonly SeedCurve[],
  index: number,
  format: (value: number) => string,
): ChartSeries {
  const { median, least, greatest } = columnsOf(band, seeds);
  const detail = (x: number) => {
    const i = lastUpTo(band.x, x);
    const [low, high] = [least[i] ?? null, greatest[i] ?? null];
    if (band.x[i] !== x || low === null || high === null) return "";
    return `${format(low)} to ${format(high)}, ${seeds.length} ${seeds.length === 1 ? "seed" : "seeds"}`;
  };
  const lines = { x: band.x, y: median, low: least, high: greatest };
  return { label: band.variant, style: variantStyle(index), ...lines, detail };
}
