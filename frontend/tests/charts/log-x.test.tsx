import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { keyZoom } from "@/lib/charts/cursor-keys";
import { LineChart } from "@/lib/charts/line-chart";
import { aboveZero, positive } from "@/lib/charts/log-x";
import { chartSvg } from "@/lib/export/chart-svg";
import { variantStyle } from "@/lib/theme/palette";
import { frame, show } from "../support/app";
import { drawnIn } from "../support/canvas";

const curve = { label: "A", style: variantStyle(0), x: [0, 1, 10, 100], y: [5, 4, 3, 2], low: [4, 3, 2, 1] };
const plain = { formatX: String, tickX: String, formatY: String, tickY: String, xTitle: "Steps" };

it("begins at the first point above zero; the same curve keeps its columns", () => {
  const [first, again] = [aboveZero([curve])[0], aboveZero([curve])[0]];
  expect(first).toMatchObject({ x: [1, 10, 100], y: [4, 3, 2], low: [3, 2, 1] });
  expect(again?.y).toBe(first?.y);
  const above = { ...curve, x: [1, 2, 3, 4] };
  expect(aboveZero([above])[0]).toBe(above);
});

it("places equal factors at equal distances", async () => {
  show(<LineChart {...plain} title="Loss" testId="loss" series={[curve]} logX />);
  await frame();
  const line = drawnIn(screen.getByTestId("loss")).find(
    ({ kind, style, points }) => kind === "stroke" && style === variantStyle(0).light && points.length === 3,
  );
  const xs = line?.points.map(([x]) => x) ?? [];
  expect((xs[1] as number) - (xs[0] as number)).toBeCloseTo((xs[2] as number) - (xs[1] as number), 0);
  const texts = drawnIn(screen.getByTestId("loss")).flatMap(({ kind, text }) =>
    kind === "text" ? text : [],
  );
  expect(texts).toEqual(expect.arrayContaining(["1", "10", "100"]));
  const { svg } = chartSvg({ ...plain, title: "Loss", series: aboveZero([curve]), logX: true });
  const [from, middle, to] = [...svg.matchAll(/[ML](\S+) /g)].slice(-3).map(([, x]) => Number(x));
  expect((middle as number) - (from as number)).toBeCloseTo((to as number) - (middle as number), 3);
});

it("has round numbers, wherever it begins", async () => {
  const off = { ...curve, x: [3, 30, 400, 3000], y: [0.03, 0.4, 3, 40], low: undefined };
  show(<LineChart {...plain} title="Loss" testId="loss" series={[off]} logX log />);
  await frame();
  const texts = drawnIn(screen.getByTestId("loss")).flatMap(({ kind, text }) =>
    kind === "text" ? text : [],
  );
  expect(texts).toEqual(expect.arrayContaining(["10", "100", "1000", "0.1", "1"]));
  expect(texts.filter((text) => /\d/.test(text) && !/^(0\.0*)?[125]0*$/.test(text))).toEqual([]);
});

it("is zoomed by keys about the middle as it is drawn, and has no zoom below zero", () => {
  const plot = {
    data: [[1, 10, 100, 1000, 10000]],
    cursor: { left: -1 },
    scales: { x: { min: 1, max: 10000 } },
  };
  const [from, to] = keyZoom(plot as never, "+", true) ?? [];
  expect(from).toBeCloseTo(10);
  expect(to).toBeCloseTo(1000);
  expect(positive([0, 5], true)).toBeUndefined();
  expect(positive([0, 5], false)).toEqual([0, 5]);
});
