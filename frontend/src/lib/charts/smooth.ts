import type { ChartSeries } from "./series";

/** Points of an average, as a share of all. */
const SHARE = 0.04;
/** The fewest points on either side of one. */
const LEAST = 3;

/**
 * The mean of each point and as many on either side of it, fewer at the ends; gaps stay gaps, and are averaged by
 * nothing. Of `n` points 4% count to a mean.
 */
export function averaged(y: ArrayLike<number | null>): (number | null)[] {
  const reach = Math.max(LEAST, Math.round((y.length * SHARE) / 2));
  return Array.from({ length: y.length }, (_, at) => {
    if (!isNumber(y[at])) return null;
    const own = Math.min(reach, at, y.length - 1 - at); // as many before as after: a slope is not bent at its ends
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

const known = new WeakMap<ChartSeries["y"], (number | null)[]>();

/** The same curve always gives the same array, so that a chart sees what did not change. */
function averageOf(y: ChartSeries["y"]): (number | null)[] {
  const found = known.get(y) ?? averaged(y);
  known.set(y, found);
  return found;
}

/** A curve as a pale line, with its interval where it has one, and its moving average. */
export function smoothed(curve: ChartSeries): ChartSeries[] {
  const { label, style, x, y, thin } = curve;
  return [
    { ...curve, faint: true },
    { label: `${label}, averaged`, style, x, y: averageOf(y), ...(thin ? { thin } : {}) },
  ];
}
