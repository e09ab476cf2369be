import { describe, expect, it } from "vitest";
import { medianSeries, valueAt } from "@/features/experiment/median-series";
import { band } from "../support/fixtures/experiment";

const seed = (n: number, x: number[], y: (number | null)[]) => ({ run: `run_${n}`, seed: n, x, y });

describe("a seed between its evaluations", () => {
  const curve = { x: [1, 3, 5], y: [10, 20, null] };

  it.each([
    [0.9, null],
    [1, 10],
    [2, 15],
    [3, 20],
    [4, null], // beside a gap
    [5, null],
    [6, null],
  ])("at %d: %j", (at, value) => {
    expect(valueAt(curve, at)).toBe(value);
  });

  it("behind its end has none", () => {
    expect(valueAt({ x: [0, 1], y: [1, 2] }, 1)).toBe(2);
    expect(valueAt({ x: [0, 1], y: [1, 2] }, 1.1)).toBeNull();
  });
});

describe("the median of seeds", () => {
  const line = band("A", { x: [0, 1, 2, 3], mean: [9, 9, 9, 9], n: [3, 3, 3, 1] });
  const three = [seed(0, [0, 2], [0, 2]), seed(1, [0, 3], [0, 30]), seed(2, [0, 1, 2], [3, 0, 4])];

  it("is that of their values, as far as all go, between the least and the greatest", () => {
    const found = medianSeries(line, three, 0, String);
    expect(found.y).toEqual([0, 1, 4, null]);
    expect(found.low).toEqual([0, 0, 2, null]);
    expect(found.high).toEqual([3, 10, 20, null]);
    expect(found.detail?.(1)).toBe("0 to 10, 3 seeds");
    expect(found.detail?.(3)).toBe("");
  });

  it("of two is their middle; the same seeds give the same arrays", () => {
    const two = band("A", { x: [0, 1], mean: [9, 9], n: [2, 2] });
    const seeds = [seed(0, [0, 1], [1, 2]), seed(1, [0, 1], [3, 8])];
    const first = medianSeries(two, seeds, 0, String);
    expect(first.y).toEqual([2, 5]);
    expect(medianSeries(two, [...seeds], 0, String).y).toBe(first.y);
    const grown = [seeds[0] ?? seed(0, [], []), seed(1, [0, 1], [3, 4])];
    expect(medianSeries(two, grown, 0, String).y).toEqual([2, 3]);
  });
});
