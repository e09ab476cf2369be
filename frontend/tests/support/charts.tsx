/** Charts as tests show them, what is drawn on them, and the hands on them. */
import { createEvent, fireEvent, screen } from "@testing-library/react";
import { LineChart, type LineChartProps } from "@/lib/charts/line-chart";
import type { ChartSeries } from "@/lib/charts/series";
import { variantStyle } from "@/lib/theme/palette";
import { frame, show } from "./app";
import { drawnIn, type Mark } from "./canvas";

export const CURVE: ChartSeries = { label: "A", style: variantStyle(0), x: [0, 50, 100], y: [0.2, 0.6, 1] };
/** A point at each whole number from 0 to 100. */
export const RAMP: ChartSeries = {
  ...CURVE,
  x: Array.from({ length: 101 }, (_, i) => i),
  y: Array.from({ length: 101 }, (_, i) => i / 100),
};
export const WORDS = { xTitle: "s", formatX: String, tickX: String, formatY: String, tickY: String };

/** A chart of one curve, with what a test says otherwise. */
export function lineChart(changes: Partial<LineChartProps> = {}) {
  return <LineChart title="Accuracy" series={[CURVE]} {...WORDS} {...changes} />;
}

/** Show such a chart, and wait until it is drawn. */
export async function showChart(changes: Partial<LineChartProps> = {}) {
  const view = show(lineChart(changes));
  await frame();
  return view;
}

export const figure = () => screen.getByRole("img");

/** The part of a chart that takes the pointer. */
export const over = (of: Element = figure()) => of.querySelector(".u-over") as HTMLElement;

/** What is drawn as a line of a colour; of a curve in light colours, unless it is said. */
export const strokes = (style = CURVE.style.light, of: Element = figure()): Mark[] =>
  drawnIn(of).filter((mark) => mark.kind === "stroke" && mark.style === style);

/** Pixels of a share of the axis. */
export const at = (share: number) => share * over().clientWidth;

let clock = 0; // ms: fingers are as fast on a slow machine

type Kind = "pointerDown" | "pointerMove" | "pointerUp" | "pointerCancel";

/** What a pointer does: a finger, the first one, unless it is said. */
export function touch(kind: Kind, clientX: number, finger = 1, pointerType = "touch", clientY = 20): void {
  const event = createEvent[kind](over(), { clientX, clientY });
  clock += 10;
  const said = {
    pointerId: finger,
    isPrimary: finger === 1,
    pointerType,
    clientX,
    clientY,
    timeStamp: clock,
  };
  for (const [name, value] of Object.entries(said)) Object.defineProperty(event, name, { value });
  fireEvent(over(), event);
}
