import { expect, it } from "vitest";
import { chartOptions } from "@/lib/charts/options";

/** Where a screen has more pixels, uPlot takes the first digits before "px" times as large: of "11.5px" those of 5. */
it("fonts of axes are a whole number of pixels", () => {
  const axes = { xTitle: "s", formatX: String, tickX: String, formatY: String, tickY: String };
  const look = { dark: false, ink: "#000", grid: "#ccc", page: "#fff", pointer: "#999", marked: "#149" };
  const size = { width: 640, height: 300 };
  const made = chartOptions([], axes, look, size, () => ({ series: [], seen: { current: true } })).axes ?? [];
  expect(made).toHaveLength(2);
  for (const { font, labelFont } of made) for (const one of [font, labelFont]) expect(one).toMatch(/^\d+px /);
});
