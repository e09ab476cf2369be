import { describe, expect, it } from "vitest";
import { faultsByField, faultsIn, nearestField, placeName } from "@/features/new-experiment/faults";

const FIELDS = [
  "/name",
  "/variants",
  "/variants/0/name",
  "/variants/0/parameters/rho",
  "/clusters/0/workers",
  "/budget/samples",
];

describe("nearestField", () => {
  it("is the place itself", () => {
    expect(nearestField("/variants/0/parameters/rho", FIELDS)).toBe("/variants/0/parameters/rho");
  });

  it("is the field around a place inside it", () => {
    expect(nearestField("/clusters/0/workers/2", FIELDS)).toBe("/clusters/0/workers");
    expect(nearestField("/variants/3/name", FIELDS)).toBe("/variants");
  });

  it("is the first field inside a place that has none of its own", () => {
    expect(nearestField("/budget", FIELDS)).toBe("/budget/samples");
    expect(nearestField("/clusters/0", FIELDS)).toBe("/clusters/0/workers");
  });

  it("does not take a neighbour for a parent", () => {
    expect(nearestField("/names", FIELDS)).toBeUndefined();
    expect(nearestField("/clusters/01", FIELDS)).toBeUndefined();
  });
});

it("gathers messages of one field and leaves out what has none", () => {
  const found = faultsByField(
    [
      { pointer: "/clusters/0/workers/0", message: "too small" },
      { pointer: "/clusters/0/workers/1", message: "too large" },
      { pointer: "/nowhere", message: "odd" },
    ],
    FIELDS,
  );
  expect([...found]).toEqual([["/clusters/0/workers", "too small; too large"]]);
});

it("names places in words", () => {
  expect(placeName("/variants/0/parameters/rho")).toBe("variant 1, rho");
  expect(placeName("/clusters/1/virtual/seconds_per_byte")).toBe("cluster 2, seconds per byte");
  expect(placeName("/baseline")).toBe("baseline");
  expect(placeName("")).toBe("specification");
});

it("finds the numbers that JSON would send as null, which for many fields means none", () => {
  const budget = { samples: 10, max_seconds: Number.POSITIVE_INFINITY };
  expect(faultsIn({ budget, variants: [{ sweep: { lr: [0.1, Number.NaN] } }], target: null })).toEqual([
    { pointer: "/budget/max_seconds", message: "not a finite number" },
    { pointer: "/variants/0/sweep/lr/1", message: "not a number" },
  ]);
});
