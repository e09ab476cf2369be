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

const known = new WeakMap<Band, Parts>();

/** The same band always gives the same arrays, so that a chart sees what did not change. */
function partsOf(band: Band): Parts {
  const before = known.get(band);
  if (before) return before;
  const { mean, n } = band;
  const all = n.reduce((most, count) => Math.max(most, count), 0);
  const whole = (i: number) => n[i] === all;
  const parts = {
    full: mean.map((value, i) => (whole(i) ? value : null)),
    rest: mean.map((value, i) => (!whole(i) || (n[i + 1] !== undefined && !whole(i + 1)) ? value : null)),
    low: band.low.map((value, i) => ((n[i] ?? 0) >= LEAST_SEEDS ? value : null)),
    high: band.high.map((value, i) => ((n[i] ?? 0) >= LEAST_SEEDS ? value : null)),
  };
  known.set(band, parts);
  return parts;
}

/** A variant's curve: thick with its band while every seed is there, thin where some have ended or not arrived. */
export function bandSeries(band: Band, index: number): ChartSeries[] {
  const { full, rest, low, high } = partsOf(band);
  const shared = { label: band.variant, style: variantStyle(index), x: band.x };
  return [
    { ...shared, y: full, low, high },
    { ...shared, y: rest, faint: true },
  ];
}
