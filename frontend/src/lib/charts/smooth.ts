import type { ChartSeries } from "./series";

/**
 * The mean of each point and as many on either side of it, fewer at the ends; gaps stay gaps, and are averaged by
 * nothing. Of all points `strength` percent count to a mean, and at least three.
 */
export function averaged(y: ArrayLike<number | null>, strength: number): (number | null)[] {
  const reach = Math.max(1, Math.round((y.length * strength) / 200));
  const values = Array.from(y);
  const [first, last] = [values.findIndex(isNumber), values.findLastIndex(isNumber)];
  return Array.from({ length: y.length }, (_, at) => {
    if (!isNumber(y[at])) return null;
    const own = Math.min(reach, at - first, last - at); // as many before as after: a slope is not bent at its ends
    let [sum, count] = [0, 0];
    for (let i = at - own; i <= at + own; i += 1) {
      const value = y[i];
      if (!isNumber(value)) continue;
      sum += value;
      count += 1;
    }
    return sum / count;
  });
}

const isNumber = (value: number | null | undefined): value is number =>
  typeof value === "number" && Number.isFinite(value);

const known = new WeakMap<ChartSeries["y"], { strength: number; means: (number | null)[] }>();

/** The same curve always gives the same array, so that a chart sees what did not change. */
function averageOf(y: ChartSeries["y"], strength: number): (number | null)[] {
  const before = known.get(y);
  if (before?.strength === strength) return before.means;
  const means = averaged(y, strength);
  known.set(y, { strength, means });
  return means;
}

/** A curve as a pale line, with its interval where it has one, and its moving average. */
export function smoothed(curve: ChartSeries, strength: number): ChartSeries[] {
  const { label, style, x, y, thin } = curve;
  return [
    { ...curve, faint: true },
    { label: `${label}, averaged`, style, x, y: averageOf(y, strength), ...(thin ? { thin } : {}) },
  ];
}
