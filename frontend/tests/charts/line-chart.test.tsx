import { act, createEvent, fireEvent, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { LineChartProps } from "@/lib/charts/line-chart";
import type { ChartSeries } from "@/lib/charts/series";
import { variantStyle } from "@/lib/theme/palette";
import { frame, show } from "../support/app";
import { drawnIn, type Mark, type Point } from "../support/canvas";
import { CURVE as A, figure, lineChart, over, strokes } from "../support/charts";
import { setSystemDark } from "../support/media";

const B: ChartSeries = { label: "B", style: variantStyle(6), x: [0, 25, 100], y: [0.4, 0.8, 0.5] };

const chart = (changes: Partial<LineChartProps> = {}) =>
  lineChart({
    xTitle: "Train clock (s)",
    formatX: (value) => `${value} s`,
    formatY: (value) => `${value * 100}%`,
    ...changes,
  });

const texts = () => drawnIn(figure()).flatMap((mark) => (mark.kind === "text" ? mark.text : []));

/** The points of the only curve of this colour, as shares of its own extent: right and up are positive. */
function shape(style: string): number[][] {
  const { points } = strokes(style).at(-1) as Mark;
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const share = (value: number) => Math.round(value * 100) / 100;
  return points.map(([x, y]) => [share((x - left) / (right - left)), share((bottom - y) / (bottom - top))]);
}

describe("a curve", () => {
  it("passes through its points, to scale, in the colour of its variant", async () => {
    show(chart());
    await frame();
    expect(shape(A.style.light)).toEqual([
      [0, 0],
      [0.5, 0.5],
      [1, 1],
    ]);
  });

  it("has equal heights for equal factors on a logarithmic scale, whose lines say their numbers", async () => {
    show(chart({ series: [{ ...A, y: [0.01, 0.1, 1] }], log: true }));
    await frame();
    expect(shape(A.style.light)).toEqual([
      [0, 0],
      [0.5, 0.5],
      [1, 1],
    ]);
    expect(texts()).toEqual(expect.arrayContaining(["0.01", "0.1", "1"]));
  });

  it("shares its axes with the others, and keeps its own pattern", async () => {
    show(chart({ series: [A, B] }));
    await frame();
    const [a] = strokes(A.style.light);
    const [b] = strokes(B.style.light);
    expect([a?.dash, b?.dash]).toEqual([[], [...B.style.dash]]);
    const height = (mark: Mark | undefined, at: number) => mark?.points[at]?.[1] ?? Number.NaN;
    const perUnit = (height(a, 0) - height(a, 2)) / 0.8; // px from 0.2 to 1
    expect(Math.abs(height(a, 0) - height(b, 0) - 0.2 * perUnit)).toBeLessThan(1.5); // whole pixels
    expect(b?.points[0]?.[0]).toBe(a?.points[0]?.[0]); // both begin at 0
    expect(b?.points.at(-1)?.[0]).toBe(a?.points.at(-1)?.[0]);
  });

  it("has a band between its low and its high end, and is thin where fewer seeds are behind it", async () => {
    const low = [0.1, 0.5, 0.9];
    const high = [0.3, 0.7, 1.1];
    show(
      chart({
        series: [
          { ...A, low, high },
          { ...A, y: [null, 0.6, 1], faint: true },
        ],
      }),
    );
    await frame();
    const fills = drawnIn(figure()).filter(
      (mark) => mark.kind === "fill" && mark.style === `${A.style.light}22`,
    );
    expect(fills).toHaveLength(1);
    const at = (mark: readonly Point[] | undefined, x: number) =>
      (mark ?? []).filter(([left]) => left === x).map(([, top]) => top);
    const line = strokes(A.style.light)[0] as Mark;
    for (const [x, y] of line.points.slice(0, 2)) {
      expect(Math.min(...at(fills[0]?.points, x))).toBeLessThan(y); // filled from the high end down ...
      expect(Math.max(...at(fills[0]?.clip, x))).toBeGreaterThan(y); // ... and cut off at the low one
    }
    expect(strokes(`${A.style.light}80`)[0]?.points).toHaveLength(2);
  });

  it("has a tick at the foot for each of its evaluations", async () => {
    show(chart({ evaluations: [{ x: [0, 50, 100], style: A.style }] }));
    await frame();
    const [ticks] = strokes(`${A.style.light}99`);
    const feet = (ticks?.points ?? []).filter((_, i) => i % 2 === 0);
    expect(feet).toHaveLength(3);
    expect(new Set(feet.map(([, y]) => y)).size).toBe(1);
    const curve = (strokes(A.style.light)[0] as Mark).points.map(([x]) => x);
    for (const [i, [x]] of feet.entries()) expect(Math.abs(x - (curve[i] ?? 0))).toBeLessThan(1.5);
  });

  it("is drawn in the shade of the colour scheme", async () => {
    show(chart());
    await frame();
    act(() => setSystemDark(true));
    await frame();
    expect(strokes(A.style.dark)).toHaveLength(1);
    expect(strokes(A.style.light)).toHaveLength(0);
  });
});

describe("the axes", () => {
  it("say what runs over them, with ticks in their unit", async () => {
    show(chart({ tickX: (value) => `${value} sec`, tickY: (value) => `${Math.round(value * 100)} %` }));
    await frame();
    expect(texts()).toEqual(expect.arrayContaining(["Train clock (s)", "0 sec", "100 sec", "20 %", "100 %"]));
  });

  it.each([
    ["is drawn at its height", 0.6, 0.5],
    ["widens the axis where the curves are below it", 1.8, 2],
  ])("show the target: it %s", async (_, value, share) => {
    show(chart({ target: { value, label: "target 60%" } }));
    await frame();
    expect(texts()).toContain("target 60%");
    const dotted = drawnIn(figure()).filter((mark) => mark.kind === "stroke" && mark.dash.join() === "2,4");
    expect(dotted).toHaveLength(1);
    const [start, end] = (dotted[0] as Mark).points;
    expect(start?.[1]).toBe(end?.[1]); // level
    const [first, , last] = (strokes(A.style.light)[0] as Mark).points.map(([, y]) => y);
    const measured = ((first ?? 0) - (start?.[1] ?? 0)) / ((first ?? 0) - (last ?? 0));
    expect(measured).toBeCloseTo(share, 1);
  });

  it("are cut where a share cannot go, and close in on where the curves end", async () => {
    const view = show(chart({ clamp: [0, 1] }));
    await frame();
    const wide = strokes(A.style.light)[0]?.points.map(([, y]) => y) ?? [];
    view.again(chart({ clamp: [0, 1], close: "top" }));
    await frame();
    const near = strokes(A.style.light)[0]?.points.map(([, y]) => y) ?? [];
    const extent = (ys: number[]) => Math.max(...ys) - Math.min(...ys);
    expect(extent(near)).toBeGreaterThan(4 * extent(wide)); // 15% of the range fills the plot
    expect(near.at(-1)).toBe(wide.at(-1)); // 1 is the top of both
  });
});

describe("new data", () => {
  it("is drawn in the next frame, once however often it came", async () => {
    const view = show(chart());
    await frame();
    for (const end of [0.7, 0.8, 0.9]) view.again(chart({ series: [{ ...A, y: [0.2, 0.6, end] }] }));
    expect(shape(A.style.light)).toEqual([
      [0, 0],
      [0.5, 0.5],
      [1, 1],
    ]);
    await frame();
    expect(strokes(A.style.light)).toHaveLength(1);
    expect(shape(A.style.light)[1]).toEqual([0.5, 0.57]); // (0.6 - 0.2) / (0.9 - 0.2)
  });

  it("that brings another curve, or takes one away, draws what is left", async () => {
    const view = show(chart({ series: [A, B] }));
    await frame();
    view.again(chart({ series: [B] }));
    await frame();
    expect(strokes(A.style.light)).toHaveLength(0);
    expect(strokes(B.style.light)).toHaveLength(1);
  });

  it("leaves gaps where a value is missing", async () => {
    show(chart({ series: [{ ...A, x: [0, 1, 2, 3, 4], y: [0.1, 0.2, null, 0.4, 0.5] }] }));
    await frame();
    expect(strokes(A.style.light)[0]?.points).toHaveLength(4);
  });

  it("is told to screen readers, and counted", () => {
    const view = show(chart({ series: [A, B], note: "3 of 900 points", testId: "chart" }));
    expect(figure()).toHaveAccessibleName("Accuracy. A 100% at 100 s; B 50% at 100 s.");
    expect(screen.getByTestId("chart")).toHaveAttribute("data-points", "6");
    expect(screen.getByText("3 of 900 points")).toBeVisible();
    view.again(chart({ series: [], empty: "Waiting for free slots" }));
    expect(figure()).toHaveAccessibleName("Accuracy. No points yet.");
    expect(screen.getByText("Waiting for free slots")).toBeVisible();
  });
});

describe("the pointer", () => {
  const move = async (x: number) => {
    fireEvent.mouseEnter(over(), { clientX: x, clientY: 20 });
    fireEvent.mouseMove(over(), { clientX: x, clientY: 20 });
    await frame();
  };

  it("reads every curve where it stands, each at its own nearest point", async () => {
    show(chart({ series: [A, B] }));
    await frame();
    await move(10); // the left edge of the plot
    const reading = over().textContent ?? "";
    expect(reading).toContain("Train clock 0 s");
    expect(reading).toContain("A20%");
    expect(reading).toContain("B40%");
    await move(110); // as far right as the plot measures in a test
    fireEvent.mouseLeave(over());
    await frame();
    expect(over().lastElementChild).toHaveAttribute("hidden");
  });

  it("zooms by dragging, keeps the zoom while data arrives, and lets go by a double click", async () => {
    const view = show(chart());
    await frame();
    const before = strokes(A.style.light)[0]?.points ?? [];
    const at = (x: number) => ({ clientX: x, clientY: 20, button: 0 });
    await move(30);
    fireEvent.mouseDown(over(), at(30));
    const drag = createEvent.mouseMove(over(), at(90));
    Object.defineProperty(drag, "movementX", { value: 60 }); // jsdom knows no movement
    fireEvent(over(), drag);
    await frame();
    fireEvent.mouseUp(document, at(90));
    await frame();
    const width = (points: Mark["points"]) => (points.at(-1)?.[0] ?? 0) - (points[0]?.[0] ?? 0);
    const zoomed = strokes(A.style.light)[0]?.points ?? [];
    expect(width(zoomed)).toBeGreaterThan(2 * width(before));
    view.again(chart({ series: [{ ...A, y: [0.2, 0.6, 0.95] }] }));
    await frame();
    expect(width(strokes(A.style.light)[0]?.points ?? [])).toBeCloseTo(width(zoomed), 0);
    fireEvent.dblClick(over());
    await Promise.resolve(); // what uPlot draws by itself is drawn by then
    expect(width(strokes(A.style.light)[0]?.points ?? [])).toBeCloseTo(width(zoomed), 0); // once, with the next frame
    await frame();
    expect(width(strokes(A.style.light)[0]?.points ?? [])).toBeCloseTo(width(before), 0);
  });
});
