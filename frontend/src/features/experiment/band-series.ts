import type { ChartSeries } from "@/lib/charts/series";
import type { Band } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";

/** With two seeds the t interval is 13 times as wide as their spread: drawn, it says nothing and hides all. */
const LEAST_SEEDS = 3;

type Values = (number | null)[];
interface Parts {
  full: Values;
  rest: Values;
  low: Values;
  high: Values;
}

const known = new WeakMap<Band["mean"], Parts>();

/** The same band always gives the same arrays, so that a chart sees what did not change. */
function partsOf({ mean, low, high, n }: Band): Parts {
  const before = known.get(mean);
  if (before) return before;
  const all = n.reduce((most, count) => Math.max(most, count), 0);
  const parts = {
    full: mean.map((value, i) => (n[i] === all ? value : null)),
    // Where a seed leaves, the mean jumps although no seed does: the line is broken there.
    rest: mean.map((value, i) => (n[i] === all || (n[i] !== n[i - 1] && n[i - 1] !== all) ? null : value)),
    low: low.map((value, i) => ((n[i] ?? 0) >= LEAST_SEEDS ? value : null)),
    high: high.map((value, i) => ((n[i] ?? 0) >= LEAST_SEEDS ? value : null)),
  };
  known.set(mean, parts);
  return parts;
}

/** Position of an x in an ascending column; undefined if it is none of them. */
function positionOf(x: readonly number[], value: number): number | undefined {
  let [low, high] = [0, x.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const here = x[middle] as number;
    if (here === value) return middle;
    if (here < value) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
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

/** A variant's curve: thick with its band while every seed is there, thin where some have ended or not arrived. */
export function bandSeries(band: Band, index: number, format: (value: number) => string): ChartSeries[] {
  const { full, rest, low, high } = partsOf(band);
  const detail = detailOf(band, format);
  const shared = { label: band.variant, style: variantStyle(index), x: band.x, detail };
  return [
    { ...shared, y: full, low, high },
    { ...shared, y: rest, faint: true },
  ];
}
