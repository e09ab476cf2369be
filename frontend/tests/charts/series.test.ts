import { expect, it, describe as suite } from "vitest";
import { nearestOwn } from "@/lib/charts/options";
import { type ChartSeries, chartData, describe, seenThrough, yRange } from "@/lib/charts/series";
import { variantStyle } from "@/lib/theme/palette";

function series(over: Partial<ChartSeries>): ChartSeries {
  return { label: "A", style: variantStyle(0), x: [0, 1], y: [0.2, 0.8], ...over };
}

suite("chartData", () => {
  it("gives y, high and low of a banded series, y alone of another", () => {
    const data = chartData([series({ low: [0.1, 0.7], high: [0.3, 0.9] }), series({ x: [1], y: [5] })]);
    expect(data).toEqual([
      [0, 1],
      [0.2, 0.8],
      [0.3, 0.9],
      [0.1, 0.7],
      [undefined, 5],
    ]);
  });
});

suite("a curve that equals an earlier one", () => {
  const dashes = (...all: ChartSeries[]) => seenThrough(all).map(({ style }) => style.dash);

  it("has gaps, so that both are seen; others are left as they are", () => {
    const other = series({ label: "B", style: variantStyle(1) });
    expect(dashes(series({}), other)).toEqual([[], [9, 9]]);
    expect(dashes(series({}), { ...other, y: [0.2, 0.81] })).toEqual([[], []]);
    expect(dashes(series({}), { ...other, x: [0, 2] })).toEqual([[], []]);
    expect(dashes(series({}), { ...other, faint: true })).toEqual([[], []]);
  });

  it("has none where nothing is drawn", () => {
    expect(dashes(series({ x: [], y: [] }), series({ x: [], y: [] }))).toEqual([[], []]);
    expect(dashes(series({ y: [null, null] }), series({ y: [null, null] }))).toEqual([[], []]);
  });
});

suite("yRange", () => {
  it("holds means and target, with room, inside the clamp", () => {
    const [low, high] = yRange([series({})], { target: 0.95, clamp: [0, 1] });
    expect(low).toBeLessThan(0.2);
    expect(low).toBeGreaterThanOrEqual(0);
    expect(high).toBeGreaterThan(0.95);
    expect(high).toBeLessThanOrEqual(1);
  });

  it("is not stretched by a band: two seeds make huge ones", () => {
    expect(yRange([series({ low: [-40, -40], high: [40, 40] })], {})[1]).toBeLessThan(1);
  });

  it("shows where curves end when asked for a close-up, and the target with it", () => {
    expect(yRange([series({ y: [0.1, 0.9] })], { close: "top" })[0]).toBeGreaterThan(0.7);
    expect(yRange([series({ y: [0.1, 0.9] })], { close: "top", target: 0.5 })[0]).toBeLessThan(0.5);
    expect(yRange([series({ y: [2.3, 0.2] })], { close: "bottom" })[1]).toBeLessThan(0.6);
  });

  it("on a logarithmic scale has room by factors, and no place for what is not positive", () => {
    const [low, high] = yRange([series({ y: [0.01, 1], x: [0, 1] })], { log: true });
    expect(Math.log10(low)).toBeCloseTo(-2.16, 6); // 8% of two decades on either side
    expect(Math.log10(high)).toBeCloseTo(0.16, 6);
    expect(yRange([series({ y: [0, -1, 0.01, 1], x: [0, 1, 2, 3] })], { log: true })).toEqual([low, high]);
    expect(yRange([series({ y: [1, 0.01] })], { log: true, close: "bottom" })[1]).toBeLessThan(0.03);
    expect(yRange([series({ y: [1, 0.1] })], { log: true, target: 0.01 })[0]).toBeLessThan(0.01);
    expect(yRange([], { log: true })[0]).toBeGreaterThan(0);
  });

  it("does not show rounding as if it were a change", () => {
    const [low, high] = yRange([series({ y: [0.107, 0.107 + 1e-16, 0.107 - 1e-16], x: [0, 1, 2] })], {});
    expect(high - low).toBeGreaterThan(0.01);
  });

  it("ignores gaps and survives having nothing", () => {
    expect(yRange([series({ y: [null, Number.NaN] })], { clamp: [0, 1] })).toEqual([0, 1]);
    const [low, high] = yRange([series({ y: [3, 3] })], {});
    expect(low).toBeLessThan(3);
    expect(high).toBeGreaterThan(3);
  });
});

suite("describe", () => {
  it("tells a screen reader where each curve is", () => {
    const text = describe("Loss", [series({ y: [2, null] }), series({ label: "B" })], String, String);
    expect(text).toBe("Loss. A 2 at 0; B 0.8 at 1.");
    expect(describe("Loss", [], String, String)).toBe("Loss. No points yet.");
  });
});

suite("the range of y within a zoom", () => {
  const curve = series({ x: [0, 1, 2, 3], y: [10, 2, 1, 0.9] });

  it("is of the points in view, not of the target beyond them", () => {
    const [low, high] = yRange([curve], { zoom: [2, 3], target: 8 });
    expect(low).toBeLessThan(0.9);
    expect(high).toBeGreaterThan(1);
    expect(high).toBeLessThan(2);
  });

  it("is that of all points where none is in view", () => {
    expect(yRange([curve], { zoom: [7, 9] })).toEqual(yRange([curve], {}));
    expect(yRange([], { zoom: [7, 9] })).toEqual([0, 1]);
  });
});

suite("the point that is read at the pointer", () => {
  const read = (y: (number | null | undefined)[], hovered: number) =>
    nearestOwn({ data: [y.map((_, i) => i), y] }, 1, hovered);

  it.each([
    ["its own where it has one", [1, 2, 3], 1, 1],
    ["a gap where it was evaluated and has no value", [1, null, 3], 1, 1],
    ["the nearer of two", [1, undefined, undefined, 4], 2, 3],
    ["the earlier of two equally near", [1, undefined, 3], 1, 0],
    ["none before its first", [undefined, 2, 3], 0, null],
    ["none after its last", [1, 2, undefined], 2, null],
  ])("is %s", (_, y, hovered, expected) => {
    expect(read(y, hovered)).toBe(expected);
  });
});
