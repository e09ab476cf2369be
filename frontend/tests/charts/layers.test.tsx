/** What a chart leaves out because nobody sees it: each stroke takes time in every frame. */
import { expect, it } from "vitest";
import type { ChartSeries } from "@/lib/charts/series";
import { variantStyle } from "@/lib/theme/palette";
import { CURVE as A, showChart, strokes } from "../support/charts";

const B: ChartSeries = { label: "B", style: variantStyle(6), x: [0, 25, 100], y: [0.4, 0.8, 0.5] };

it("has one tick where many of a colour were evaluated in one column of pixels", async () => {
  const near = Array.from({ length: 400 }, (_, i) => 50 + i * 1e-6);
  const runs = [near, near, [100]].map((x) => ({ x, style: A.style }));
  await showChart({ evaluations: [...runs, { x: [50], style: B.style }] });
  const of = ({ light }: ChartSeries["style"]) => strokes(`${light}99`);
  const feet = of(A.style).map(({ points }) => points.filter((_, i) => i % 2 === 0));
  expect(feet.map(({ length }) => length)).toEqual([2]);
  expect(of(B.style)).toHaveLength(1);
});
