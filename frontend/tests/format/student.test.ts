import { expect, it } from "vitest";
import { geometricInterval, t975 } from "@/lib/format/student";

it("the interval of a geometric mean is that of the mean of logarithms", () => {
  // by hand: logs 0, ln 2, 2 ln 2; mean ln 2, deviation ln 2, half 4.303 ln 2 / sqrt 3
  const half = (4.303 * Math.LN2) / Math.sqrt(3);
  const [low, high] = geometricInterval([1, 2, 4]) ?? [0, 0];
  expect(low).toBeCloseTo(2 * Math.exp(-half), 9);
  expect(high).toBeCloseTo(2 * Math.exp(half), 9);
  expect(geometricInterval([1, 2])).toBeNull();
  expect(geometricInterval([3, 3, 3])?.[0]).toBeCloseTo(3, 12);
});

it("quantiles beyond the table are as in tables", () => {
  for (const [freedom, value] of [
    [40, 2.021],
    [60, 2.0],
    [120, 1.98],
  ] as const)
    expect(Math.abs(t975(freedom) - value)).toBeLessThan(0.002);
});
