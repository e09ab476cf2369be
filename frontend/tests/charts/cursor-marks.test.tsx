/** The line and the dots at the pointer, beside the curves as they are drawn. */
import { createEvent, fireEvent } from "@testing-library/react";
import { expect, it } from "vitest";
import type { LineChartProps } from "@/lib/charts/line-chart";
import type { ChartSeries } from "@/lib/charts/series";
import { variantStyle } from "@/lib/theme/palette";
import { frame } from "../support/app";
import { drawnIn, type Point } from "../support/canvas";
import { CURVE as A, figure, over, showChart, strokes } from "../support/charts";

const B: ChartSeries = { label: "B", style: variantStyle(6), x: [0, 25, 100], y: [0.4, 0.8, 0.5] };
/** How far the canvas of the marks stands beyond the plot on each side, px. */
const RIM = 4;
const EDGE = 10; // px: the left edge of everything in a test

const px = (name: "left" | "top" | "width" | "height") => Number.parseFloat(over().style[name]);

/** Puts the pointer on a share of the horizontal axis. */
async function point(share: number): Promise<void> {
  const clientX = EDGE + share * px("width");
  fireEvent.mouseEnter(over(), { clientX, clientY: 20 });
  fireEvent.mouseMove(over(), { clientX, clientY: 20 });
  await frame();
}

async function chart(changes: Partial<LineChartProps>): Promise<void> {
  await showChart(changes);
}

const marks = () => (over().querySelector("canvas") ? drawnIn(over()) : []);
/** A place on the canvas of the marks, as one on that of the curves. */
const onChart = ([x, y]: Point): Point => [x - RIM + px("left"), y - RIM + px("top")];
const dots = (style: string) =>
  marks().flatMap((mark) => (mark.style === style ? mark.points.map(onChart) : []));
const curve = (style: string) => strokes(style, figure())[0]?.points ?? [];

function expectClose(found: Point | undefined, expected: Point | undefined): void {
  for (const i of [0, 1] as const)
    expect(Math.abs((found?.[i] ?? Number.NaN) - (expected?.[i] ?? Number.NaN))).toBeLessThanOrEqual(1);
}

it("each curve has a dot on its own nearest point, and the pointer a line from top to bottom", async () => {
  await chart({ series: [A, B] });
  expect(marks()).toEqual([]);
  await point(0.5); // B has no point at 50
  expect([dots(A.style.light).length, dots(B.style.light).length]).toEqual([1, 1]);
  expectClose(dots(A.style.light)[0], curve(A.style.light)[1]);
  expectClose(dots(B.style.light)[0], curve(B.style.light)[1]);
  const line = marks()[0]?.points.map(onChart) ?? [];
  expectClose(line[0], [px("left") + 0.5 * px("width"), px("top")]);
  expectClose(line[1], [px("left") + 0.5 * px("width") + 1, px("top") + px("height")]);
  await point(1);
  expectClose(dots(A.style.light)[0], curve(A.style.light)[2]);
  fireEvent.mouseLeave(over());
  await frame();
  expect(over().querySelector("canvas")).toBeNull();
});

it("the ends of a band have none, a pale curve a pale one, and one that has ended none behind its end", async () => {
  const low = [0.1, 0.5, 0.9];
  const high = [0.3, 0.7, 1];
  const pale = { ...A, y: [0.3, 0.4, 0.5], faint: true };
  await chart({ series: [{ ...A, low, high }, pale, { ...B, x: [0, 25, 50] }] });
  await point(1);
  expect(marks().map(({ style }) => style)).toEqual([expect.anything(), A.style.light, `${A.style.light}80`]);
});

it("a point that a zoom leaves out has none", async () => {
  await chart({ series: [A, B], zoom: [40, 60], onZoom: () => undefined });
  await point(0.5);
  expect(dots(A.style.light)).toHaveLength(1);
  expect(dots(B.style.light)).toHaveLength(0);
});

it("lies below what is selected, and what is told", async () => {
  await chart({ series: [A] });
  await point(0.5);
  const canvas = over().querySelector("canvas") as HTMLElement;
  expect(over().firstElementChild).toBe(canvas);
});

/** From where to where the marked part lies, as shares of the horizontal axis; undefined: there is none. */
function marked(): number[] | undefined {
  const part = marks().find(({ points: [from, to] }) => from && to && to[0] - from[0] > 1); // the line has 1 px
  return part?.points.map((each) => (onChart(each)[0] - px("left")) / px("width"));
}

it("a part that is marked to zoom to is drawn with them, also where the mouse has left the plot, until it is taken", async () => {
  await chart({ series: [A] });
  await point(0.2);
  const mouse = (share: number) => ({ clientX: EDGE + share * px("width"), clientY: 20, button: 0 });
  fireEvent.mouseDown(over(), mouse(0.2));
  const drag = createEvent.mouseMove(over(), mouse(0.6));
  Object.defineProperty(drag, "movementX", { value: 0.4 * px("width") }); // jsdom knows no movement
  fireEvent(over(), drag);
  await frame();
  const [from, to] = marked() ?? [];
  expect(from).toBeCloseTo(0.2, 2);
  expect(to).toBeCloseTo(0.6, 2);
  fireEvent.mouseLeave(over());
  await frame();
  expect(dots(A.style.light)).toEqual([]);
  expect(marked()?.[0]).toBeCloseTo(0.2, 2);
  fireEvent.mouseUp(document, mouse(1.5));
  await frame();
  expect(marked()).toBeUndefined();
});
