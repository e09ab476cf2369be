import { act, fireEvent, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { LineChart } from "@/lib/charts/line-chart";
import type { ChartSeries } from "@/lib/charts/series";
import { variantStyle } from "@/lib/theme/palette";
import { frame, show } from "../support/app";
import { drawnIn } from "../support/canvas";

const A: ChartSeries = { label: "A", style: variantStyle(0), x: [0, 50, 100], y: [0.2, 0.6, 1] };

function open(series: ChartSeries[]) {
  show(
    <LineChart
      title="Accuracy"
      series={series}
      xTitle="Train clock (s)"
      formatX={(value) => `${value} s`}
      tickX={String}
      formatY={(value) => `${value * 100}%`}
      tickY={String}
    />,
  );
  return frame();
}

const figure = () => screen.getByRole("img");
const over = () => figure().querySelector(".u-over") as HTMLElement;

/** The width of the curve as it is drawn, px. */
function width(): number {
  const marks = drawnIn(figure()).filter(({ kind, style }) => kind === "stroke" && style === A.style.light);
  const points = marks[0]?.points ?? [];
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

it("a chart without points is no stop of the tab key", async () => {
  await open([]);
  expect(figure()).not.toHaveAttribute("tabindex");
});
