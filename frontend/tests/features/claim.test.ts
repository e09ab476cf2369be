import { describe, expect, it } from "vitest";
import { claimOf, correctionOf, pairsOf } from "@/features/experiment/claim";
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
    const said = (changes: Partial<SpeedUp>) => [claimOf(speedUp(changes)), pairsOf(speedUp(changes))];
    expect(said({})).toEqual(["faster", "5 seeds"]);
    expect(said({ pairs: 4, left_out: 1 })).toEqual(["faster", "4 of 5 seeds"]);
    expect(said({ claim: "at least", high: null })).toEqual(["faster, bound", "5 seeds"]);
    expect(said({ claim: "no claim", pairs: 1, low: null, high: null })).toEqual(["no claim", "1 seed"]);
    expect(said({ claim: "baseline" })).toEqual(["", ""]);
  });

  it("says where only the correction stands against it", () => {
    const shown = { claim: "not shown", comparisons: 6 } as const;
    expect(claimOf(speedUp({ ...shown, low: 1.05 }))).toBe("not shown, corrected");
    expect(claimOf(speedUp({ ...shown, low: 0.6, high: 0.9 }))).toBe("not shown, corrected");
    expect(claimOf(speedUp({ ...shown, low: 0.9 }))).toBe("not shown");
    expect(claimOf(speedUp({ ...shown, low: null, high: 1.2 }))).toBe("not shown");
  });

  it("names the comparisons that were corrected for", () => {
    expect(correctionOf([])).toBe("");
    expect(correctionOf([speedUp({})])).toBe("");
    expect(correctionOf([speedUp({}), speedUp({ comparisons: 4 })])).toContain("for 4 comparisons");
  });
});
