import { expect, it } from "vitest";
import { meanSeries, type SeedCurve, seedSeries, tailSeries } from "@/features/experiment/band-series";
import { band } from "../support/fixtures/experiment";

const N = [3, 3, 3, 2, 2, 1, 1];
const BAND = band("A", {
  x: [0, 1, 2, 3, 4, 5, 6],
  mean: [0.1, 0.2, 0.3, 0.5, 0.6, 0.9, 0.95],
  low: [0.05, 0.15, 0.25, 0.1, 0.1, null, null],
  high: [0.15, 0.25, 0.35, 0.9, 0.9, null, null],
  n: N,
});
const percent = (value: number) => `${Math.round(value * 100)}%`;
const seed = (number: number | undefined, x: number[]): SeedCurve => ({
  run: `run_${number}`,
  seed: number,
  x,
  y: x.map((at) => at / 10),
});
const SEEDS = [seed(0, [0, 2]), seed(1, [0, 1.5, 3, 4]), seed(undefined, [0, 2, 4, 6])];

it("a mean ends at the last point that all seeds have, and does not jump to that of those that are left", () => {
  const mean = meanSeries(BAND, 0, percent);
  expect(mean.y).toEqual([0.1, 0.2, 0.3, null, null, null, null]);
  expect(mean.low).toEqual([0.05, 0.15, 0.25, null, null, null, null]);
});

it("each seed that goes on has a pale line of its own from there, from its last evaluation before", () => {
  expect(tailSeries(BAND, SEEDS, 0)).toEqual([
    expect.objectContaining({ label: "A, seed 1", x: [1.5, 3, 4], y: [0.15, 0.3, 0.4], faint: true }),
    expect.objectContaining({ label: "A, one seed", x: [2, 4, 6], y: [0.2, 0.4, 0.6], faint: true }),
  ]);
  expect(tailSeries({ ...BAND, mean: [...BAND.mean], n: [0, 0, 0, 0, 0, 0, 0] }, SEEDS, 0)).toEqual([]);
});

it("every seed can be drawn as a whole", () => {
  const lines = seedSeries(BAND, SEEDS, 0);
  expect(lines.map(({ label, x, thin }) => [label, x, thin])).toEqual([
    ["A, seed 0", [0, 2], true],
    ["A, seed 1", [0, 1.5, 3, 4], true],
    ["A, one seed", [0, 2, 4, 6], true],
  ]);
});

it("an interval is drawn from three seeds on", () => {
  const two = meanSeries({ ...BAND, n: [2, 2, 2, 1, 1, 1, 1], mean: [...BAND.mean] }, 0, percent);
  expect(two.y).toEqual([0.1, 0.2, 0.3, null, null, null, null]);
  expect(two.low).toEqual([null, null, null, null, null, null, null]);
});

it("the pointer is told the interval and the number of seeds behind a point", () => {
  const { detail } = meanSeries(BAND, 0, percent);
  expect(detail?.(1)).toBe("15% to 25%, 3 seeds");
  expect(detail?.(4)).toBe("2 seeds");
  expect(detail?.(6)).toBe("1 seed");
  expect(detail?.(1.5)).toBe("");
});

it("the same columns give the same arrays", () => {
  expect(meanSeries({ ...BAND }, 0, percent).y).toBe(meanSeries(BAND, 0, percent).y);
  expect(tailSeries(BAND, SEEDS, 0)[0]?.x).toBe(tailSeries({ ...BAND }, SEEDS, 0)[0]?.x);
});
