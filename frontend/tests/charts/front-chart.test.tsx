import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { FrontChart, type FrontPoint } from "@/lib/charts/front-chart";
import { show } from "../support/app";

const exact = (value: number) => ({ value, low: null, high: null });

function dot(key: string, x: number, y: number, changes: Partial<FrontPoint> = {}): FrontPoint {
  return {
    key,
    name: `row ${key}`,
    x: exact(x),
    y: exact(y),
    color: "#123456",
    isOnFront: true,
    words: `${key}: ${x} s`,
    ...changes,
  };
}

function chart(points: FrontPoint[]) {
  show(
    <FrontChart
      title="Digits"
      name="Accuracy against time"
      sheet={() => ({ head: [], rows: [] })}
      label="Accuracy against time"
      points={points}
      xTitle="Time (s)"
      yTitle="Accuracy"
      tickX={(value) => `${value} s`}
      tickY={(value) => `${value}%`}
      testId="front"
    />,
  );
}

const group = (key: string) => document.querySelector(`[data-point="${key}"]`) as Element;

/** Where a point stands. */
function place(key: string): [number, number] {
  const circle = group(key).querySelector("circle");
  return [Number(circle?.getAttribute("cx")), Number(circle?.getAttribute("cy"))];
}

/** Where the label of a tick or of a point stands. */
function textAt(text: string): { x: number; y: number; anchor: string | null } {
  const found = screen.getByText(text);
  const [x, y] = [Number(found.getAttribute("x")), Number(found.getAttribute("y"))];
  return { x, y, anchor: found.getAttribute("text-anchor") };
}

/** Where a value lies between two others, by their places. */
const share = (value: number, low: number, high: number) => (value - low) / (high - low);

describe("points over two figures", () => {
  it("stand where their figures are, by the ticks of both axes", () => {
    chart([dot("a", 10, 90), dot("b", 20, 96), dot("c", 30, 92)]);
    const [ten, twenty, thirty] = ["10 s", "20 s", "30 s"].map((tick) => textAt(tick).x);
    expect([place("a")[0], place("b")[0], place("c")[0]]).toEqual([
      expect.closeTo(ten ?? 0, 0),
      expect.closeTo(twenty ?? 0, 0),
      expect.closeTo(thirty ?? 0, 0),
    ]);
    const [low, high] = [textAt("90%").y - 4, textAt("96%").y - 4];
    expect(place("a")[1]).toBeCloseTo(low, 0);
    expect(place("b")[1]).toBeCloseTo(high, 0);
    expect(share(place("c")[1], low, high)).toBeCloseTo(1 / 3, 2);
    expect(screen.getByText("Time (s)")).toBeVisible();
    expect(screen.getByRole("img", { name: "Accuracy against time" })).toBeVisible();
  });

  it("are joined and filled where no other one beats them, and hollow elsewhere", () => {
    chart([dot("a", 1, 5), dot("b", 2, 7), dot("c", 2, 6, { isOnFront: false })]);
    const path = document.querySelector("[data-front]")?.getAttribute("d") ?? "";
    const corners = path.split(/[ML]/).filter(Boolean);
    expect(corners.map((corner) => corner.trim().split(" ").map(Number))).toEqual([place("a"), place("b")]);
    const fills = ["a", "c"].map((key) => group(key).querySelector("circle")?.getAttribute("fill"));
    expect(fills).toEqual(["#123456", "var(--hk-page)"]);
    expect(screen.getByText("row b")).toBeVisible();
    expect(screen.queryByText("row c")).toBeNull();
  });

  it("say themselves to the pointer", () => {
    chart([dot("a", 1, 5)]);
    expect(group("a").querySelector("title")).toHaveTextContent("a: 1 s");
  });

  it("have a line for the spread of each figure, cut where it leaves the chart", () => {
    const wide = { value: 2, low: 1.5, high: 900 };
    chart([dot("a", 1, 5), dot("b", 2, 6, { x: wide, y: { value: 6, low: 5.5, high: 6.5 } })]);
    const [across, upright] = [...group("b").querySelectorAll("line")];
    const [x, y] = place("b");
    const ends = (line: Element | undefined, axis: "x" | "y") =>
      [1, 2].map((end) => Number(line?.getAttribute(`${axis}${end}`)));
    expect(share(ends(across, "x")[0] ?? 0, place("a")[0], x)).toBeCloseTo(0.5, 2);
    expect(ends(across, "x")[1]).toBe(800 - 18); // the right end of the chart
    expect(ends(across, "y")).toEqual([y, y]);
    expect(ends(upright, "x")).toEqual([x, x]);
    expect(group("a").querySelectorAll("line")).toHaveLength(0);
  });

  it("are named beside them: to the left at the right end, and one below another where they are close", () => {
    chart([dot("a", 1, 5), dot("b", 1.01, 5.001), dot("far", 9, 9, { name: "a row that is far away" })]);
    expect(textAt("row a").anchor).toBe("start");
    expect(textAt("a row that is far away").anchor).toBe("end");
    expect(textAt("a row that is far away").x).toBeLessThan(place("far")[0]);
    expect(Math.abs(textAt("row a").y - textAt("row b").y)).toBeGreaterThanOrEqual(14);
  });

  it("have names that fit into the chart", () => {
    const name = "a".repeat(300);
    chart([dot("a", 1, 5, { name }), dot("b", 2, 6)]);
    const [label] = [...document.querySelectorAll("text")].filter((text) => text.textContent?.endsWith("…"));
    expect(label?.textContent?.length).toBeLessThan(130);
  });

  it("stand on a logarithmic axis where figures are far apart, and it says so", () => {
    chart([dot("a", 1, 5), dot("b", 10, 6), dot("c", 100, 7)]);
    expect(screen.getByText("Time (s), log scale")).toBeVisible();
    expect(screen.getByText("Accuracy")).toBeVisible();
    expect(share(place("b")[0], place("a")[0], place("c")[0])).toBeCloseTo(0.5, 2);
  });

  it("may be a single one", () => {
    chart([dot("a", 3, 5)]);
    const [x, y] = place("a");
    expect([x, y].every(Number.isFinite)).toBe(true);
    expect(x).toBeGreaterThan(62);
    expect(x).toBeLessThan(800 - 18);
  });
});
