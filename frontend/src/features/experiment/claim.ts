import type { SpeedUp } from "@/lib/client/types.gen";

const WORDS: Record<SpeedUp["claim"], string> = {
  baseline: "",
  faster: "faster",
  slower: "slower",
  same: "practically the same",
  "not shown": "not shown",
  "at least": "faster, bound",
  "at most": "slower, bound",
  "no claim": "no claim",
};

/** The claim in a few words. */
export function claimOf({ claim, low, high, comparisons }: SpeedUp): string {
  const excludes = (low !== null && low > 1) || (high !== null && high < 1);
  const corrected = claim === "not shown" && excludes && comparisons > 1 ? ", corrected" : "";
  return `${WORDS[claim]}${corrected}`;
}

/** The seeds behind a claim, out of those that were compared; nothing of the baseline. */
export function pairsOf({ claim, pairs, left_out }: SpeedUp): string {
  if (claim === "baseline") return "";
  const all = pairs + left_out;
  return `${left_out > 0 ? `${pairs} of ${all}` : pairs} ${all === 1 ? "seed" : "seeds"}`;
}

/** What the claims of a group were corrected for, as the end of a sentence. */
export function correctionOf(speedUps: readonly SpeedUp[]): string {
  const comparisons = Math.max(1, ...speedUps.map((speedUp) => speedUp.comparisons));
  return comparisons > 1 ? `; claims hold after correction for ${comparisons} comparisons (Holm)` : "";
}
