import { describe, expect, it } from "vitest";
import { linearTicks, spaceScale } from "@/lib/charts/space-scale";

describe("the place of a value", () => {
  it("is its share of an interval", () => {
    const { place } = spaceScale({ low: 2, high: 6 });
    expect([2, 3, 4, 6].map(place)).toEqual([0, 0.25, 0.5, 1]);
  });

  it("is in equal steps for equal factors, on a log scale", () => {
    const { place } = spaceScale({ low: 0.001, high: 1, scale: "log" });
    for (const [value, share] of [
      [0.001, 0],
      [0.01, 1 / 3],
      [0.1, 2 / 3],
      [1, 1],
    ] as const) {
      expect(place(value)).toBeCloseTo(share, 12);
    }
  });

  it("is in equal steps for equal factors of 1 - x, on a reverse log scale", () => {
    const { place } = spaceScale({ low: 0, high: 0.999, scale: "reverse-log" });
    for (const [value, share] of [
      [0, 0],
      [0.9, 1 / 3],
      [0.99, 2 / 3],
      [0.999, 1],
    ] as const) {
      expect(place(value)).toBeCloseTo(share, 12);
    }
  });

  it("is the middle of the part of a choice, told from others by its type", () => {
    const { place, marks } = spaceScale({ choices: [1, "1", false, null] });
    expect([1, "1", false, null].map(place)).toEqual([0.125, 0.375, 0.625, 0.875]);
    expect(marks.map(({ label }) => label)).toEqual(["1", "1", "false", "empty"]);
    expect(place(2)).toBeNull();
  });

  it.each([[-1], [7], ["4"], [undefined], [null], [Number.NaN]])("is nowhere for %o", (value) => {
    expect(spaceScale({ low: 2, high: 6 }).place(value)).toBeNull();
  });
});

describe("the marks of an axis", () => {
  const labels = (space: Parameters<typeof spaceScale>[0]) =>
    spaceScale(space).marks.map(({ label }) => label);

  it.each([
    [{ low: 0.003, high: 0.3, scale: "log" }, ["0.005", "0.01", "0.02", "0.05", "0.1", "0.2"]],
    [{ low: 1e-6, high: 1, scale: "log" }, ["1.00e-6", "1.00e-5", "1.00e-4", "0.001", "0.01", "0.1", "1"]],
    [{ low: 1, high: 64, scale: "log", integer: true }, ["1", "2", "5", "10", "20", "50"]],
    [{ low: 3, high: 4, scale: "log" }, ["3", "4"]],
    [{ low: 0, high: 0.97, scale: "reverse-log" }, ["0", "0.5", "0.8", "0.9", "0.95"]],
    [{ low: 0.1, high: 0.4, scale: "reverse-log" }, ["0.1", "0.4"]],
    [{ low: 0.2, high: 1.2 }, ["0.2", "0.4", "0.6", "0.8", "1", "1.2"]],
  ] as const)("of %o are round", (space, expected) => {
    expect(labels(space)).toEqual(expected);
  });

  it("stand where their values do", () => {
    const { marks, place } = spaceScale({ low: 0.003, high: 0.3, scale: "log" });
    for (const { at, label } of marks) expect(at).toBe(place(Number(label)));
  });
});

it.each([
  [0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]],
  [0.031, 0.094, [0.04, 0.06, 0.08]],
  [-3, 12, [0, 5, 10]],
  [990, 1010, [990, 995, 1000, 1005, 1010]],
  [4, 4, [4]],
])("ticks from %f to %f are %o", (low, high, expected) => {
  expect(linearTicks(low, high)).toEqual(expected);
});
