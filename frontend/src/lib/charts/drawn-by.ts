import type { ChartSeries, Crossing, Evaluations } from "./series";
import type { Zoom } from "./zoom";

interface Drawn {
  readonly series: readonly ChartSeries[];
  readonly zoom?: Zoom;
  readonly crossings?: readonly Crossing[];
  readonly evaluations?: readonly Evaluations[];
  readonly whole?: boolean;
}

/** What a chart draws: where none of it has changed, it is not drawn again; where its curves have not, not joined again. */
export function drawnBy({ series, zoom, crossings = [], evaluations = [], whole }: Drawn) {
  const curves = columnsOf(series);
  const all = [
    ...curves,
    ...(zoom ?? []),
    whole,
    "crossings",
    ...crossings.flatMap(({ x, style }) => [x, style.light]),
    "evaluations",
    ...evaluations.flatMap(({ x, style }) => [x, style.light]),
  ];
  return { all, curves };
}

/** The arrays that a chart draws; answers that did not change keep theirs, and are not drawn again. */
function columnsOf(series: readonly ChartSeries[]): readonly unknown[] {
  return series.flatMap((one) => [one.label, one.x, one.y, one.low, one.high]);
}

export function sameItems(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((item, i) => item === right[i]);
}
