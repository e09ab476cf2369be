import { describe, expect, it } from "vitest";
import { claimOf, correctionOf } from "@/features/experiment/claim";
import type { SpeedUp } from "@/lib/client/types.gen";

function speedUp(changes: Partial<SpeedUp>): SpeedUp {
  return {
    ratio: 2,
    low: 1.8,
    high: 2.2,
    pairs: 5,
    censored: 0,
    left_out: 0,
    comparisons: 1,
    p_adjusted: 0.001,
    claim: "faster",
    sentence: "",
    ...changes,
  };
}

describe("the claim beside an interval", () => {
  it("says how many seeds are behind it, and how many say nothing", () => {
    expect(claimOf(speedUp({}))).toBe("faster · n=5");
    expect(claimOf(speedUp({ pairs: 4, left_out: 1 }))).toBe("faster · n=4 of 5");
    expect(claimOf(speedUp({ claim: "at least", high: null }))).toBe("faster, bound · n=5");
    expect(claimOf(speedUp({ claim: "no claim", pairs: 2, low: null, high: null }))).toBe("no claim · n=2");
    expect(claimOf(speedUp({ claim: "baseline" }))).toBe("");
  });

  it("says where only the correction stands against it", () => {
    const shown = { claim: "not shown", comparisons: 6 } as const;
    expect(claimOf(speedUp({ ...shown, low: 1.05 }))).toBe("not shown, corrected · n=5");
    expect(claimOf(speedUp({ ...shown, low: 0.6, high: 0.9 }))).toBe("not shown, corrected · n=5");
    expect(claimOf(speedUp({ ...shown, low: 0.9 }))).toBe("not shown · n=5");
    expect(claimOf(speedUp({ ...shown, low: null, high: 1.2 }))).toBe("not shown · n=5");
  });

  it("names the comparisons that were corrected for", () => {
    expect(correctionOf([])).toBe("");
    expect(correctionOf([speedUp({})])).toBe("");
    expect(correctionOf([speedUp({}), speedUp({ comparisons: 4 })])).toContain("for 4 comparisons");
  });
});
