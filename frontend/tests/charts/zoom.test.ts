import { expect, it } from "vitest";
import { isWide } from "@/lib/charts/log-x";
import { nearestOwn } from "@/lib/charts/options";
import { yRange } from "@/lib/charts/series";
import { zoomFrom, zoomText } from "@/lib/charts/zoom";
import { variantStyle } from "@/lib/theme/palette";

it("a zoom stands in the URL, and nonsense there is none", () => {
  expect(zoomText([1.23456789, 20_000])).toBe("1.23457_20000");
  expect(zoomFrom("1.5_3")).toEqual([1.5, 3]);
  expect(zoomFrom("-1_1e3")).toEqual([-1, 1000]);
  for (const text of [undefined, "", "1", "3_1", "1_1", "a_b", "1_2_3", "_2", "1_Infinity"]) {
    expect(zoomFrom(text)).toBeUndefined();
  }
});

it("a narrow zoom far from zero stands in the URL, too", () => {
  for (const zoom of [
    [1_000_000, 1_000_000.5],
    [3600.001, 3600.0015],
    [-5.000001, -5],
  ] as const) {
    const [from, to] = zoomFrom(zoomText(zoom)) as [number, number];
    expect((to - from) / (zoom[1] - zoom[0])).toBeCloseTo(1, 4);
    expect(Math.abs(from - zoom[0])).toBeLessThan((zoom[1] - zoom[0]) / 1000);
  }
});

it("what is narrower than a millionth of the axis is no zoom", () => {
  const x = [0, 1, 1e6];
  expect([isWide([5, 6], x, false), isWide([5, 5.9], x, false)]).toEqual([true, false]);
  expect(isWide([1, 10], [1, 1e9], true)).toBe(true); // a ninth of the decades
});

it("heights are fitted to what a zoom shows", () => {
  const style = variantStyle(0);
  const series = [{ label: "A", style, x: [0, 1, 2, 3], y: [0.1, 0.9, 0.94, 0.95] }];
  const [low, high] = yRange(series, { target: 0.5, zoom: [1.5, 3] });
  expect(low).toBeCloseTo(0.94 - 0.01 * 0.08, 6);
  expect(high).toBeCloseTo(0.95 + 0.01 * 0.08, 6);
  expect(yRange(series, { zoom: [10, 20] })).toEqual(yRange(series, {})); // nothing in view
});

it("a curve has a value between its own points, and none before the first and after the last", () => {
  const data: [number[], (number | undefined)[]] = [
    [0, 1, 2, 3, 4, 5],
    [undefined, 0.1, undefined, undefined, 0.4, undefined],
  ];
  const at = (hovered: number) => nearestOwn({ data } as Parameters<typeof nearestOwn>[0], 1, hovered);
  expect([0, 1, 2, 3, 4, 5].map(at)).toEqual([null, 1, 1, 4, 4, null]);
});
