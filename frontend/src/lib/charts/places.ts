import type uPlot from "./plot-type";

/** Where values stand on a scale of a chart, px of its canvas. Of many values: uPlot looks all of the scale up for each of them. */
export function placesOn(
  plot: Pick<uPlot, "scales" | "valToPos">,
  scale: "x" | "y",
): (value: number) => number {
  const { min, max, distr } = plot.scales[scale] ?? {};
  const byPlot = (value: number) => plot.valToPos(value, scale, true);
  if (typeof min !== "number" || typeof max !== "number" || max <= min || distr !== 1) return byPlot;
  const start = byPlot(min);
  const perUnit = (byPlot(max) - start) / (max - min);
  return (value) => start + (value - min) * perUnit;
}
