import { describe, expect, it } from "vitest";
import { critical, curveName, curveSeries } from "@/features/calibration/curves";
import type { Curve } from "@/lib/client/types.gen";

const curve = (changes: Partial<Curve>): Curve => ({
  kind: "all-reduce",
  collective: "tree",
  points: [
    { bytes: 100, ranks: 2, seconds: 1e-5, error: 1e-6, samples: 9 },
    { bytes: 1000, ranks: 4, seconds: 2e-5, error: 1e-6, samples: 9 },
    { bytes: 10_000, ranks: 4, seconds: 4e-5, error: 1e-6, samples: 9 },
  ],
  line: { alpha: 1e-6, alpha_error: 0, beta: 1e-9, beta_error: 0, misfit: 0 },
  ...changes,
});

describe("the messages and bytes of an operation", () => {
  it.each([
    ["tree", 4, { messages: 4, size: 4000 }],
    ["tree", 3, { messages: 4, size: 4000 }],
    ["halving", 4, { messages: 4, size: 1500 }],
    ["halving", 3, { messages: 4, size: 3000 }],
    ["ring", 4, { messages: 6, size: 1500 }],
  ] as const)("of %s with %i ranks are those of the engine", (collective, ranks, expected) => {
    expect(critical(curve({ collective }), ranks, 1000)).toEqual(expected);
  });

  it("of a message are one", () => {
    expect(critical(curve({ kind: "message", collective: null }), 2, 8)).toEqual({ messages: 1, size: 8 });
  });
});

describe("the curves", () => {
  it("show the largest number of ranks, with the fitted line on the same axes", () => {
    const [measured, fitted] = curveSeries([curve({})]);
    expect(measured?.label).toBe("all-reduce, tree");
    expect(Array.from(measured?.x ?? [])).toEqual([3, 4]);
    expect(fitted?.y[0]).toBeCloseTo(Math.log10(4e-6 + 4000e-9));
    expect(fitted?.y[40]).toBeCloseTo(Math.log10(4e-6 + 40_000e-9));
  });

  it("have no line where none was fitted", () => {
    const library = curve({ collective: "library", line: null });
    expect(curveSeries([library]).map(({ label }) => label)).toEqual([curveName(library)]);
  });
});
