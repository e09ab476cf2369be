import type { ChartSeries } from "./series";
import type { Zoom } from "./zoom";

type Column = ArrayLike<number | null>;

const known = new WeakMap<object, { from: number; column: ArrayLike<number | null> }>();

/** The same column always gives the same part, so that a chart sees what did not change. */
function part<T extends Column>(column: T, from: number): T {
  if (from === 0) return column;
  const before = known.get(column);
  if (before?.from === from) return before.column as T;
  const rest = Array.from(column as ArrayLike<number | null>).slice(from);
  known.set(column, { from, column: rest });
  return rest as unknown as T;
}

/** Curves as far as a logarithmic axis has a place for them: from their first point above zero on. */
export function aboveZero(series: readonly ChartSeries[]): ChartSeries[] {
  return series.map((one) => {
    let from = 0;
    while (from < one.x.length && (one.x[from] as number) <= 0) from += 1;
    if (from === 0) return one;
    const { x, y, exact, low, high } = one;
    return {
      ...one,
      x: part(x, from),
      y: part(y, from),
      ...(exact && { exact: part(exact, from) }),
      ...(low && { low: part(low, from) }),
      ...(high && { high: part(high, from) }),
    };
  });
}

/** The ends of an axis, or what they are on a logarithmic one, and back. */
export const bent = (log: boolean | undefined, value: number): number => (log ? Math.log10(value) : value);
export const straight = (log: boolean | undefined, value: number): number => (log ? 10 ** value : value);

/** A zoom that a logarithmic axis can show: it may come from an address. */
export function positive(zoom: Zoom | undefined, log: boolean | undefined): Zoom | undefined {
  return log && zoom && zoom[0] <= 0 ? undefined : zoom;
}

/** The least share of an axis that can be in view. */
const LEAST = 1e-6;

/** Whether a part of an axis is wide enough to be shown, and to be told from none in an address. */
export function isWide([from, to]: Zoom, x: ArrayLike<number>, log: boolean | undefined): boolean {
  const [first, last] = [bent(log, x[0] ?? 0), bent(log, x[x.length - 1] ?? 0)];
  return bent(log, to) - bent(log, from) >= (last - first) * LEAST;
}
