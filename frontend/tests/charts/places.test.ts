import { expect, it } from "vitest";
import { placesOn } from "@/lib/charts/places";

/** A scale over 600 px from 54 on, as uPlot has it. */
function plotOf(min: number | null, max: number | null, distr: 1 | 3 = 1) {
  const bend = distr === 3 ? Math.log10 : (value: number) => value;
  const valToPos = (value: number) => {
    if (min === null || max === null) return Number.NaN;
    return 54 + (600 * (bend(value) - bend(min))) / (bend(max) - bend(min));
  };
  return { scales: { x: { min, max, distr } }, valToPos } as unknown as Parameters<typeof placesOn>[0];
}

it("values stand where the chart puts them, on a linear scale and on a logarithmic one, in view and beyond", () => {
  for (const plot of [plotOf(-2, 10), plotOf(3, 3.001), plotOf(0.1, 1000, 3)]) {
    const place = placesOn(plot, "x");
    for (const value of [0.2, 3, 3.0005, 7, 900]) {
      const known = plot.valToPos(value, "x", true);
      expect(Math.abs(place(value) - known)).toBeLessThan(1e-6 * Math.max(1, Math.abs(known)));
    }
  }
});

it("a scale without a length is left to the chart", () => {
  expect(placesOn(plotOf(null, null), "x")(1)).toBeNaN();
  expect(placesOn(plotOf(5, 5), "x")(5)).toBeNaN();
});
