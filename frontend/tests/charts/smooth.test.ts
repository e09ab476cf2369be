import { expect, it } from "vitest";
import { averaged, smoothed } from "@/lib/charts/smooth";
import { variantStyle } from "@/lib/theme/palette";

it("a straight line stays as it is, to its ends", () => {
  const line = Array.from({ length: 50 }, (_, i) => 3 - i / 10);
  averaged(line).forEach((value, i) => {
    expect(value).toBeCloseTo(line[i] as number, 12);
  });
});

it("each point is the mean of the points around it", () => {
  const y = [0, 0, 0, 0, 7, 0, 0, 0, 0];
  expect(averaged(y).map((value) => Number(value?.toFixed(3)))).toEqual([0, 0, 1.4, 1, 1, 1, 1.4, 0, 0]);
});

it("of many points 4% count", () => {
  const y = Array.from({ length: 1000 }, (_, i) => (i === 500 ? 41 : 0));
  const found = averaged(y);
  expect(found.filter((value) => value !== 0)).toHaveLength(41);
  expect(found[500]).toBeCloseTo(1, 12);
});

it("what has no number stays a gap, and spoils no mean", () => {
  expect(averaged([1, null, 1, Number.NaN, 1])).toEqual([1, null, 1, null, 1]);
});

it("the measured curve stays, pale", () => {
  const curve = { label: "Loss", style: variantStyle(0), x: [0, 1, 2], y: [3, 0, 3] };
  const [pale, mean] = smoothed(curve);
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
  const [pale, mean] = smoothed(curve);
  expect(pale).toMatchObject({ low, high });
  expect(mean).not.toHaveProperty("low");
  expect(smoothed({ ...curve })[1]?.y).toBe(mean?.y);
});
