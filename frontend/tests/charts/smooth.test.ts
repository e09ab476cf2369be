import { expect, it } from "vitest";
import { averaged, smoothed } from "@/lib/charts/smooth";
import { smoothingIn } from "@/lib/charts/smoothing";
import { variantStyle } from "@/lib/theme/palette";

it("a straight line stays as it is, to its ends", () => {
  const line = Array.from({ length: 50 }, (_, i) => 3 - i / 10);
  for (const strength of [4, 50])
    averaged(line, strength).forEach((value, i) => {
      expect(value).toBeCloseTo(line[i] as number, 12);
    });
});

it("each point is the mean of the points around it", () => {
  const y = [0, 0, 0, 0, 7, 0, 0, 0, 0];
  const means = (strength: number) => averaged(y, strength).map((value) => Number(value?.toFixed(3)));
  expect(means(1)).toEqual([0, 0, 0, 2.333, 2.333, 2.333, 0, 0, 0]); // at least its two neighbors
  expect(means(50)).toEqual([0, 0, 1.4, 1.4, 1.4, 1.4, 1.4, 0, 0]);
});

it.each([
  [4, 41],
  [20, 201],
])("of many points %i%% count", (strength, points) => {
  const y = Array.from({ length: 1000 }, (_, i) => (i === 500 ? points : 0));
  const found = averaged(y, strength);
  expect(found.filter((value) => value !== 0)).toHaveLength(points);
  expect(found[500]).toBeCloseTo(1, 12);
});

it("an address says how much, and one of before says that it is smoothed", () => {
  expect([1, 12.4, 50, 90, "yes"].map(smoothingIn)).toEqual([1, 12, 50, 50, 4]);
  expect([0, -3, Number.NaN, "4", true, undefined].map(smoothingIn).filter(Boolean)).toEqual([]);
});

it("what has no number stays a gap, and spoils no mean", () => {
  expect(averaged([null, 0, 1, 2, 3, null, null], 50)).toEqual([null, 0, 1, 2, 3, null, null]); // ends where it ends
  expect(averaged([1, null, 1, Number.NaN, 1], 50)).toEqual([1, null, 1, null, 1]);
});

it("the measured curve stays, pale", () => {
  const curve = { label: "Loss", style: variantStyle(0), x: [0, 1, 2], y: [3, 0, 3] };
  const [pale, mean] = smoothed(curve, 4);
  expect(pale).toEqual({ ...curve, faint: true });
  expect(mean).toMatchObject({ label: "Loss, averaged", x: [0, 1, 2], y: [3, 2, 3] });
  expect(mean?.faint).toBeUndefined();
});

it("an interval stays with what was measured, and equal curves have one array", () => {
  const [low, high] = [
    [2, -1, 2],
    [4, 1, 4],
  ];
  const curve = { label: "Loss", style: variantStyle(0), x: [0, 1, 2], y: [3, 0, 3], low, high };
  const [pale, mean] = smoothed(curve, 4);
  expect(pale).toMatchObject({ low, high });
  expect(mean).not.toHaveProperty("low");
  expect(smoothed({ ...curve }, 4)[1]?.y).toBe(mean?.y);
  expect(smoothed(curve, 20)[1]?.y).not.toBe(mean?.y);
});

it.each([4, 20, 50])("a slope is not bent beside a gap, at a strength of %d%%", (strength) => {
  const slope = Array.from({ length: 60 }, (_, i) => (i >= 20 && i < 31 ? null : 3 * i - 5));
  const means = averaged(slope, strength);
  slope.forEach((value, i) => {
    if (value === null) expect(means[i]).toBeNull();
    else expect(means[i]).toBeCloseTo(value, 9);
  });
});
