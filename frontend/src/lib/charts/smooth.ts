import type { ChartSeries } from "./series";

/**
 * The mean of each point and of those that have a partner as far on its other side, so that a slope is bent neither at
 * its ends nor beside a gap; gaps stay gaps. Of all points `strength` percent count to a mean, and at least three.
 */
export function averaged(y: ArrayLike<number | null>, strength: number): (number | null)[] {
  const reach = Math.max(1, Math.round((y.length * strength) / 200));
  return Array.from({ length: y.length }, (_, at) => {
    const own = y[at];
    if (!isNumber(own)) return null;
    let [sum, count] = [own, 1];
    for (let away = 1; away <= Math.min(reach, at); away += 1) {
      const [before, behind] = [y[at - away], y[at + away]];
      if (!isNumber(before) || !isNumber(behind)) continue;
      sum += before + behind;
      count += 2;
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
