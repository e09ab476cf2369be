/** Very many thin lines: each is drawn from its own points, and has no cell for those of the others. */
import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { split } from "@/lib/charts/crowd";
import type { LineChartProps } from "@/lib/charts/line-chart";
import { type ChartSeries, chartData } from "@/lib/charts/series";
import { variantStyle } from "@/lib/theme/palette";
import { frame, show } from "../support/app";
import { drawnIn } from "../support/canvas";
import { lineChart, strokes } from "../support/charts";

const style = variantStyle(0);
const MEAN: ChartSeries = { label: "mean", style: variantStyle(6), x: [0, 50, 100], y: [0, 0.5, 1] };
/** Line i has points at 0, 50 + i / 100 and 100: no two lines have all x in common. */
const line = (i: number, changes: Partial<ChartSeries> = {}): ChartSeries => ({
  label: `seed ${i}`,
  style,
  x: [0, 50 + i / 100, 100],
  y: [0, 0.5 + i / 1000, 1],
  thin: true,
  ...changes,
});
const lines = (n: number) => Array.from({ length: n }, (_, i) => line(i));

const chart = (series: readonly ChartSeries[], changes: Partial<LineChartProps> = {}) =>
  lineChart({ series, ...changes });

describe("a crowd", () => {
  it("is the thin lines of a chart with more than 40 of them", () => {
    expect(split([MEAN, ...lines(40)]).crowd).toEqual([]);
    const { own, crowd } = split([MEAN, ...lines(41)]);
    expect(own).toEqual([MEAN]);
    expect(crowd).toHaveLength(41);
  });

  it("takes memory that grows with its points, not with lines times points", () => {
    const cells = (n: number) => chartData(lines(n)).reduce((sum, column) => sum + column.length, 0);
    expect(cells(40)).toBeGreaterThan(40 * 40);
    expect(cells(400)).toBeLessThan(1000);
    expect(chartData([MEAN, ...lines(400)])).toHaveLength(2); // x, and the mean
  });

  it("is drawn where the same lines are if they are few", async () => {
    const few = lines(40);
    const view = show(chart([MEAN, ...few]));
    await frame();
    const before = strokes(style.light).map(({ points }) => points);
    expect(before).toHaveLength(40);
    view.again(chart([MEAN, ...few, line(40)]));
    await frame();
    const after = strokes(style.light).map(({ points }) => points);
    expect(after).toHaveLength(41);
    for (const [i, points] of before.entries())
      for (const [k, [x, y]] of points.entries()) {
        expect(Math.abs(x - (after[i]?.[k]?.[0] ?? Number.NaN))).toBeLessThan(1.5); // others are on whole pixels
        expect(Math.abs(y - (after[i]?.[k]?.[1] ?? Number.NaN))).toBeLessThan(1.5);
      }
    const all = drawnIn(screen.getByRole("img")).filter(({ kind }) => kind === "stroke");
    const last = all.map(({ style: of }) => of).lastIndexOf(style.light);
    expect(all.findIndex(({ style: of }) => of === MEAN.style.light)).toBeGreaterThan(last); // the mean lies above
  });

  it("has gaps, and pale lines where a mean has ended", async () => {
    const gap = line(0, { x: [0, 10, 20, 30, 40], y: [0, 0.1, null, 0.3, 0.4], faint: true, thin: false });
    show(chart([...lines(40), gap]));
    await frame();
    const [mark] = strokes(`${style.light}80`);
    expect(mark?.points).toHaveLength(4);
  });

  it("is cut to what is in view, with the lines that lead into it", async () => {
    const long = { x: Array.from({ length: 101 }, (_, i) => i), y: Array.from({ length: 101 }, (_, i) => i) };
    show(chart([...lines(40), line(0, long)], { zoom: [40, 50], onZoom: () => undefined }));
    await frame();
    expect(Math.max(...strokes(style.light).map(({ points }) => points.length))).toBeLessThanOrEqual(13);
  });

  it("alone has axes, and a new one is drawn without a chart that is built anew", async () => {
    const view = show(chart(lines(50)));
    await frame();
    const canvas = screen.getByRole("img").querySelector("canvas");
    expect(strokes(style.light)).toHaveLength(50);
    expect(drawnIn(screen.getByRole("img")).flatMap(({ text }) => text || [])).toContain("100");
    view.again(chart(lines(60)));
    await frame();
    expect(strokes(style.light)).toHaveLength(60);
    expect(screen.getByRole("img").querySelector("canvas")).toBe(canvas);
  });
});
