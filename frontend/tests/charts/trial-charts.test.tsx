import { fireEvent, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { ParallelCoordinates, type ParallelLine } from "@/lib/charts/parallel-coordinates";
import { rankColor } from "@/lib/charts/rank-color";
import { ScatterChart, type ScatterPoint } from "@/lib/charts/scatter-chart";
import { show } from "../support/app";

const SHEET = {
  head: ["Trial", "lr"],
  rows: [
    ["trial 1", "0.01"],
    ["trial 2", "0.1"],
  ],
};

const dot = (
  key: number,
  x: number,
  y: number | null,
  look: ScatterPoint["look"] = "usual",
): ScatterPoint => ({
  key,
  x,
  y,
  look,
  color: "#123456",
  words: `trial ${key}`,
});

function scatter(points: ScatterPoint[], marked?: number) {
  const mark = vi.fn();
  show(
    <ScatterChart
      title="Time to target"
      label="Time to target against lr"
      points={points}
      xTitle="lr (log scale)"
      xMarks={[
        { at: 0, label: "0.01" },
        { at: 1, label: "0.1" },
      ]}
      yTitle="s"
      tickY={(value) => `${value} s`}
      empty="No trial has ended yet"
      stripTitle="missed"
      marked={marked}
      mark={mark}
      sheet={() => SHEET}
    />,
  );
  return mark;
}

const shape = (key: number) => document.querySelector(`[data-trial="${key}"]`) as Element;

/** Where a point stands. */
function place(key: number): [number, number] {
  const found = /translate\(([\d.]+) ([\d.]+)\)/.exec(shape(key).getAttribute("transform") ?? "");
  return [Number(found?.[1]), Number(found?.[2])];
}

/** The height of the line of a tick. */
function tickAt(label: string): number {
  return Number(screen.getByText(label).previousElementSibling?.getAttribute("y1"));
}

describe("points over a parameter", () => {
  it("stand where their figures are on both axes", () => {
    scatter([dot(1, 0, 10), dot(2, 1, 20), dot(3, 0.5, 15)]);
    expect(place(1)[1]).toBeCloseTo(tickAt("10 s"), 6);
    expect(place(2)[1]).toBeCloseTo(tickAt("20 s"), 6);
    expect(place(3)[0]).toBeCloseTo((place(1)[0] + place(2)[0]) / 2, 6);
    expect(place(3)[1]).toBeCloseTo((place(1)[1] + place(2)[1]) / 2, 6);
    expect(Number(screen.getByText("0.01").getAttribute("x"))).toBeCloseTo(place(1)[0], 6);
    expect(Number(screen.getByText("0.1").getAttribute("x"))).toBeCloseTo(place(2)[0], 6);
    expect(screen.queryByText("missed")).toBeNull();
  });

  it("stand in a strip above all others where they have no figure, with a shape of their own", () => {
    scatter([dot(1, 0, 10), dot(2, 1, 20), dot(3, 0.5, null, "missed"), dot(4, 0.7, null, "failed")]);
    expect(screen.getByText("missed")).toBeVisible();
    expect(place(3)[1]).toBe(place(4)[1]);
    expect(place(3)[1]).toBeLessThan(Math.min(place(1)[1], place(2)[1]) - 10);
    const shapes = [1, 3, 4].map((key) =>
      shape(key).firstElementChild?.outerHTML.replace(/ (xmlns)="[^"]*"/, ""),
    );
    expect(new Set(shapes).size).toBe(3);
  });

  it("have a ring where they are chosen, another where they are marked", () => {
    scatter([dot(1, 0, 10), dot(2, 1, 20, "chosen"), dot(3, 0.5, 30)], 3);
    const rings = (key: number) => shape(key).querySelectorAll("circle[fill=none]").length;
    expect([1, 2, 3].map(rings)).toEqual([0, 1, 1]);
  });

  it("tell the pointer what they are, and who listens, which one it is", () => {
    const mark = scatter([dot(1, 0, 10), dot(2, 1, 20)]);
    const target = screen.getByText("trial 2").parentElement as Element;
    fireEvent.pointerEnter(target);
    fireEvent.pointerLeave(target);
    expect(mark.mock.calls).toEqual([[2], [undefined]]);
  });

  it("may all lie at one figure, or not be there yet", () => {
    scatter([dot(1, 0, 4), dot(2, 1, 4)]);
    expect(place(1)[1]).toBe(place(2)[1]);
    expect(screen.queryByText("No trial has ended yet")).toBeNull();
  });

  it("are awaited in words", () => {
    scatter([]);
    expect(screen.getByText("No trial has ended yet")).toBeVisible();
    expect(screen.getByRole("img")).toHaveAccessibleName("Time to target against lr");
  });

  it("that all missed leave the axis without figures", () => {
    scatter([dot(1, 0, null, "missed")]);
    expect(screen.queryByText(/ s$/)).toBeNull();
  });
});

const line = (key: number, places: (number | null)[], changes: Partial<ParallelLine> = {}): ParallelLine => ({
  key,
  places,
  color: "#123456",
  look: "usual",
  words: `trial ${key}`,
  ...changes,
});

function parallel(lines: ParallelLine[], marked?: number) {
  const mark = vi.fn();
  const names = ["lr", "momentum", "time"];
  const marks = [
    { at: 0, label: "low" },
    { at: 1, label: "high" },
  ];
  show(
    <ParallelCoordinates
      title="All trials"
      name="Trials"
      label="2 trials"
      axes={names.map((name) => ({ name, marks }))}
      lines={lines}
      marked={marked}
      mark={mark}
      sheet={() => SHEET}
    />,
  );
  return mark;
}

const points = (key: number) =>
  [...(shape(key).getAttribute("d") ?? "").matchAll(/([ML])([\d.]+) ([\d.]+)/g)].map(
    ([, verb, x, y]) => [verb, Number(x), Number(y)] as const,
  );

describe("lines over all parameters", () => {
  it("meet each axis at the place of their value", () => {
    parallel([line(1, [0, 1, 0.5]), line(2, [1, 0, 0])]);
    const axes = screen.getAllByText(/lr|momentum|time/).map((name) => Number(name.getAttribute("x")));
    expect(points(1).map(([, x]) => x)).toEqual(axes);
    const marks = (label: string) => Number(screen.getAllByText(label)[0]?.getAttribute("y")) - 4;
    const [low, high] = [marks("low"), marks("high")];
    expect(points(1).map(([, , y]) => y)).toEqual([low, high, (low + high) / 2]);
    expect(points(2).map(([, , y]) => y)).toEqual([high, low, low]);
    expect(high).toBeLessThan(low);
  });

  it("pause where a trial has no such parameter", () => {
    parallel([line(1, [0, null, 0.5])]);
    expect(points(1).map(([verb]) => verb)).toEqual(["M", "M"]);
  });

  it("are thick where chosen, dashed where the target was missed", () => {
    parallel([
      line(1, [0, 1, 0]),
      line(2, [0, 1, 0], { look: "missed" }),
      line(3, [1, 1, 1], { look: "chosen" }),
    ]);
    const widths = [1, 2, 3].map((key) => Number(shape(key).getAttribute("stroke-width")));
    expect(widths[2]).toBeGreaterThan(Math.max(widths[0] ?? 0, widths[1] ?? 0));
    expect([1, 2, 3].map((key) => shape(key).hasAttribute("stroke-dasharray"))).toEqual([false, true, false]);
  });

  it("step back behind the one that is marked", () => {
    parallel([line(1, [0, 1, 0]), line(2, [1, 0, 1])], 2);
    expect(Number(shape(1).getAttribute("opacity"))).toBeLessThan(Number(shape(2).getAttribute("opacity")));
  });

  it("tell the pointer which they are", () => {
    const mark = parallel([line(1, [0, 1, 0]), line(2, [1, 0, 1])]);
    fireEvent.pointerEnter(screen.getByText("trial 1").parentElement as Element);
    expect(mark).toHaveBeenLastCalledWith(1);
  });
});

describe("the colour of a rank", () => {
  const strength = (rank: number | null, of: number) =>
    Number(/#1f66d0 (\d+)%/.exec(rankColor("#1f66d0", rank, of))?.[1]);

  it("is that of the variant for the best, and fades evenly", () => {
    expect(strength(1, 5)).toBe(100);
    const steps = [1, 2, 3, 4, 5].map((rank) => strength(rank, 5));
    expect(steps).toEqual([...steps].sort((a, b) => b - a));
    expect(steps.at(-1)).toBeGreaterThan(0);
    expect((steps[1] ?? 0) - (steps[2] ?? 0)).toBeCloseTo((steps[2] ?? 0) - (steps[3] ?? 0), -1);
  });

  it("is whole for the only one, and none without a rank", () => {
    expect(strength(1, 1)).toBe(100);
    expect(rankColor("#1f66d0", null, 5)).not.toContain("#1f66d0");
  });
});
