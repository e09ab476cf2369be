import { act, fireEvent } from "@testing-library/react";
import { expect, it } from "vitest";
import type { ChartSeries } from "@/lib/charts/series";
import { frame } from "../support/app";
import { CURVE as A, figure, over, showChart, strokes } from "../support/charts";

const open = (series: ChartSeries[]) =>
  showChart({
    series,
    xTitle: "Train clock (s)",
    formatX: (value) => `${value} s`,
    formatY: (value) => `${value * 100}%`,
  });

/** The width of the curve as it is drawn, px. */
function width(): number {
  const points = strokes()[0]?.points ?? [];
  return (points.at(-1)?.[0] ?? 0) - (points[0]?.[0] ?? 0);
}

/** Whether the chart took the key. */
async function press(key: string, held = {}): Promise<boolean> {
  const passed = fireEvent.keyDown(figure(), { key, ...held });
  await frame();
  return !passed;
}

it("keys lead to the points of a chart, and zoom about the one that is reached", async () => {
  await open([A]);
  const whole = width();
  act(() => figure().focus());
  expect(figure()).toHaveFocus();
  expect(await press("End")).toBe(true);
  expect(over()).toHaveTextContent("Train clock 100 sA100%");
  await press("ArrowLeft");
  expect(over()).toHaveTextContent("Train clock 50 sA60%");
  await press("+");
  expect(width()).toBeCloseTo(2 * whole, -1);
  await press("-");
  expect(width()).toBeCloseTo(whole, 0);
  expect(await press("x")).toBe(false);
  expect(await press("-", { ctrlKey: true })).toBe(false); // the browser's own zoom
  act(() => figure().blur());
  expect(over().lastElementChild).toHaveAttribute("hidden");
});

it("screen readers hear what is in view, and the values where the cursor stands", async () => {
  await open([A, { ...A, label: "B", y: [0.1, null, 0.5], low: [0, null, 0.4], high: [0.2, null, 0.6] }]);
  const told = () => document.querySelector("[aria-live=polite]");
  expect(told()).toBeEmptyDOMElement(); // nothing has been done yet
  await press("End");
  expect(told()).toHaveTextContent("Train clock 100 s: A 100%, B 50%");
  await press("ArrowLeft");
  expect(told()).toHaveTextContent("Train clock 50 s: A 60%"); // there B has no value
  await press("+");
  expect(told()).toHaveTextContent("Train clock from 25 s to 75 s of 100 s");
  await press("-");
  expect(told()).toHaveTextContent("Train clock from 0 s to 100 s (all)");
  await press("x");
  expect(told()).toHaveTextContent("Train clock from 0 s to 100 s (all)");
});

it("a chart without points is no stop of the tab key", async () => {
  await open([]);
  expect(figure()).not.toHaveAttribute("tabindex");
});
