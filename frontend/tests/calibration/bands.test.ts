/** What the charts of a calibration draw of points that are few, noisy or of several pairs. */
import { describe, expect, it } from "vitest";
import { curveName, curveSeries } from "@/features/calibration/curves";
import type { Curve } from "@/lib/client/types.gen";

type Point = Curve["points"][number];
const point = (bytes: number, seconds: number, changes: Partial<Point> = {}): Point => ({
  ...{ bytes, ranks: 2, pair: [0, 1], seconds, error: 0, samples: 9 },
  ...changes,
});
const line = { alpha: 1e-6, alpha_error: 0, beta: 1e-9, beta_error: 0, misfit: 0 };
const message = (points: Point[], changes: Partial<Curve> = {}): Curve => ({
  ...{ kind: "message", collective: null, line, points },
  ...changes,
});
const measured = (points: Point[]) => curveSeries([message(points)])[0];

describe("a measured curve", () => {
  it("goes from small to large messages, in whatever order they were measured", () => {
    const x = measured([point(1000, 3), point(10, 1), point(100, 2)])?.x ?? [];
    expect(Array.from(x)).toEqual([1, 2, 3]);
  });

  it("leaves out a time of zero, which has no place on a logarithmic axis", () => {
    const found = measured([point(10, 0), point(100, 1e-5), point(1000, 1e-4)]);
    expect(Array.from(found?.x ?? [])).toEqual([2, 3]);
    expect(Array.from(found?.y ?? []).every(Number.isFinite)).toBe(true);
  });

  it("has a band of 1.96 standard errors around each time", () => {
    const found = measured([point(10, 1, { error: 0.1 })]);
    expect(found?.low?.[0]).toBeCloseTo(Math.log10(0.804));
    expect(found?.high?.[0]).toBeCloseTo(Math.log10(1.196));
  });

  it("has a band that ends a decade below when the error is larger than the time", () => {
    expect(measured([point(10, 1, { error: 5 })])?.low?.[0]).toBeCloseTo(-1);
  });

  it("is that of one pair of ranks, the first", () => {
    const other = point(1000, 9, { pair: [0, 2] });
    expect(Array.from(measured([point(10, 1), other, point(100, 2)])?.x ?? [])).toEqual([1, 2]);
  });

  it("counts points without a number of ranks as those of two", () => {
    const old = point(10, 1, { ranks: undefined });
    expect(Array.from(measured([old, point(100, 2)])?.x ?? [])).toEqual([1, 2]);
  });
});

describe("a fitted line", () => {
  it("is not drawn through a single size", () => {
    expect(curveSeries([message([point(10, 1)])])).toHaveLength(1);
  });

  it("begins and ends with the measured sizes, dashed, in the colour of its curve", () => {
    const [, , curve, fitted] = curveSeries([
      message([point(10, 1), point(100, 2)]),
      message([point(100, 1), point(10_000, 2)], { kind: "stream" }),
    ]);
    expect([fitted?.x[0], Array.from(fitted?.x ?? []).at(-1)]).toEqual([2, 4]);
    expect(fitted?.style.color).toBe(curve?.style.color);
    expect(fitted?.style.dash).not.toEqual(curve?.style.dash);
    expect(fitted?.label).toBe("stream, fitted");
  });
});

describe("the name of a curve", () => {
  it("has the algorithm only where there is one", () => {
    expect(curveName(message([]))).toBe("message");
    expect(curveName(message([], { kind: "all-reduce", collective: "ring" }))).toBe("all-reduce, ring");
  });
});
