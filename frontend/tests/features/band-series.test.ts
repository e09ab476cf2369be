import { expect, it } from "vitest";
import { bandSeries } from "@/features/experiment/band-series";
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

it("a curve is thick while all seeds are there, and thin and broken where they leave", () => {
  const [full, rest] = bandSeries(BAND, 0, percent);
  expect(full?.y).toEqual([0.1, 0.2, 0.3, null, null, null, null]);
  expect(full?.low).toEqual([0.05, 0.15, 0.25, null, null, null, null]);
  expect(rest).toMatchObject({ faint: true, y: [null, null, null, 0.5, 0.6, null, 0.95] });
});

it("the pointer is told the interval and the number of seeds behind a point", () => {
  const [full] = bandSeries(BAND, 0, percent);
  expect(full?.detail?.(1)).toBe("15% to 25%, 3 seeds");
  expect(full?.detail?.(4)).toBe("2 seeds");
  expect(full?.detail?.(6)).toBe("1 seed");
  expect(full?.detail?.(1.5)).toBe("");
});

it("the same columns give the same arrays", () => {
  const [one] = bandSeries(BAND, 0, percent);
  const [other] = bandSeries({ ...BAND }, 0, percent);
  expect(other?.y).toBe(one?.y);
});
