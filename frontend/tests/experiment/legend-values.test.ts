import { describe, expect, it } from "vitest";
import { meanSeries } from "@/features/experiment/band-series";
import { type LegendLine, rangeText, readAt } from "@/features/experiment/legend-values";
import { band } from "../support/fixtures/experiment";

/** A mean that ends at 3, where its first seed does; the band goes on to 5. */
const BAND = band("A", {
  ...{ x: [1, 2, 3, 5], mean: [0.1, 0.2, 0.3, 0.9], low: [0, 0.1, 0.2, null], high: [0.2, 0.3, 0.4, null] },
  n: [3, 3, 3, 1],
});
const LINE: LegendLine = { line: meanSeries(BAND, 0, String), x: BAND.x, n: BAND.n };

describe("what a line says", () => {
  it.each([
    ["nowhere: its end", undefined, 0.3],
    ["at a point", 2, 0.2],
    ["nearer to the left", 2.4, 0.2],
    ["nearer to the right", 2.6, 0.3],
    ["halfway: the left", 2.5, 0.2],
    ["before its first point", 0.5, undefined],
    ["where its mean has ended", 4.5, undefined],
    ["behind its last point", 6, undefined],
  ])("%s", (_, at, value) => {
    expect(readAt(LINE, at)?.value).toBe(value);
  });

  it("has the interval and the seeds of that point", () => {
    expect(readAt(LINE, 1.1)).toEqual({ value: 0.1, low: 0, high: 0.2, seeds: 3 });
  });

  it("is nothing without points", () => {
    const none = band("A", { x: [], mean: [], low: [], high: [], n: [] });
    expect(readAt({ line: meanSeries(none, 0, String), x: [], n: [] }, undefined)).toBeUndefined();
  });
});

describe("an interval", () => {
  const value = { value: 1, low: 0.5, high: 1.5, seeds: 3 };

  it("leaves the unit out that both ends have", () => {
    expect(rangeText(value, (of) => `${of} samples/s`, " samples/s")).toBe("0.5 to 1.5");
    expect(rangeText(value, (of) => `${of * 100}%`, "")).toBe("50% to 150%");
  });

  it("is empty where there is none", () => {
    expect(rangeText({ ...value, low: null }, String, "")).toBe("");
  });
});
