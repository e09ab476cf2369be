import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { LineChart } from "@/lib/charts/line-chart";
import { beyondOf } from "@/lib/charts/most-values";
import { type ChartSeries, yRange } from "@/lib/charts/series";
import { chartSvg } from "@/lib/export/chart-svg";
import { variantStyle } from "@/lib/theme/palette";
import { frame, show } from "../support/app";
import { drawnIn } from "../support/canvas";

const curve = (y: (number | null)[], index = 0): ChartSeries => ({
  label: `run ${index}`,
  style: variantStyle(index),
  x: y.map((_, i) => i),
  y,
});
/** A loss that falls from 2.3 to 0.1. */
const falling = Array.from({ length: 60 }, (_, i) => 0.1 + 2.2 * Math.exp(-i / 8));
const outlier = falling.map((value, i) => (i === 30 ? 1e6 : value));
const plain = { formatX: String, tickX: String, formatY: String, tickY: String, xTitle: "Steps" };

it("one value far from all others does not set the axis", () => {
  const [low, high] = yRange([curve(outlier)], {});
  expect(high).toBeGreaterThan(2.3);
  expect(high).toBeLessThan(3);
  expect(low).toBeLessThanOrEqual(0.1);
  expect(yRange([curve(outlier)], { whole: true })[1]).toBeGreaterThan(1e6);
  expect(beyondOf({ series: [curve(outlier)] })).toEqual([{ x: 30, above: true, style: variantStyle(0) }]);
  expect(beyondOf({ series: [curve(outlier.map((value) => -value))] })[0]?.above).toBe(false);
});

it("what is shown without it has the axis of all values", () => {
  const few = [2, 1e6, 1, 1, 1];
  const many = falling.map((value, i) => (i % 4 === 0 ? 1e6 : value)); // a quarter of all: no outliers
  for (const y of [falling, few, many, Array(40).fill(3), [...Array(40).fill(0), 1]]) {
    expect(yRange([curve(y)], {})).toEqual(yRange([curve(y)], { whole: true }));
    expect(beyondOf({ series: [curve(y)] })).toEqual([]);
  }
  expect(beyondOf({ series: [curve(outlier)], clamp: [0, 1] })).toEqual([]);
  expect(beyondOf({ series: [curve(outlier)], log: true })).toEqual([]);
  expect(yRange([curve(outlier)], { log: true })[1]).toBeGreaterThan(1e6);
  expect(beyondOf({ series: [curve(outlier)], zoom: [0, 29] })).toEqual([]);
});

it("a value in ten thousand is found, whichever are looked at for the rest", () => {
  const long = Array.from({ length: 10_007 }, (_, i) => Math.sin(i));
  long[4242] = -1e9;
  expect(beyondOf({ series: [curve(long)] })).toMatchObject([{ x: 4242, above: false }]);
});

it("is marked at the edge, counted, and shown by one click", async () => {
  const { user } = show(<LineChart {...plain} title="Loss" testId="loss" series={[curve(outlier)]} />);
  await frame();
  const heights = () => {
    const line = drawnIn(screen.getByTestId("loss")).findLast(
      ({ kind, style }) => kind === "stroke" && style === variantStyle(0).light,
    );
    const ys = (line?.points ?? []).map(([, y]) => y).sort((a, b) => a - b);
    return (ys[ys.length - 1] as number) - (ys[Math.floor(ys.length / 2)] as number);
  };
  const triangles = () =>
    drawnIn(screen.getByTestId("loss")).filter(
      ({ kind, style, points }) => kind === "fill" && style === variantStyle(0).light && points.length === 3,
    );
  expect(triangles()).toHaveLength(1);
  const before = heights();
  await user.click(screen.getByRole("button", { name: "1 value beyond: show all" }));
  await frame();
  expect(heights()).toBeLessThan(before / 10); // all but the one value lie on the ground
  await user.click(screen.getByRole("button", { name: "Leave out far values" }));
  await frame();
  expect(heights()).toBeCloseTo(before);
});

it("is marked and counted in the picture for a paper", () => {
  const { svg } = chartSvg({
    title: "Loss",
    series: [curve(outlier)],
    xTitle: "s",
    tickX: String,
    tickY: String,
  });
  expect(svg).toContain("1 value beyond the axis");
  expect(svg.match(/Z" fill="#1f66d0"/g)).toHaveLength(1);
});
