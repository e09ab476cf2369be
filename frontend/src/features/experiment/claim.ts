import type { SpeedUp } from "@/lib/client/types.gen";

const WORDS: Record<SpeedUp["claim"], string> = {
  baseline: "baseline",
  faster: "faster",
  slower: "slower",
  same: "practically same",
  "not shown": "not shown",
  "at least": "faster, bound",
  "at most": "slower, bound",
  "no claim": "no claim",
};

/** The claim in a few words, and the seeds behind it out of those that were compared. */
export function claimOf(speedUp: SpeedUp): string {
  const { claim, low, high, pairs, left_out, comparisons } = speedUp;
  if (claim === "baseline") return "";
  const excludes = (low !== null && low > 1) || (high !== null && high < 1);
  const corrected = claim === "not shown" && excludes && comparisons > 1 ? ", corrected" : "";
  const seeds = left_out > 0 ? `${pairs} of ${pairs + left_out}` : `${pairs}`;
  return `${WORDS[claim]}${corrected} · n=${seeds}`;
}

/** What the claims of a group were corrected for, as the end of a sentence. */
export function correctionOf(speedUps: readonly SpeedUp[]): string {
  const comparisons = Math.max(1, ...speedUps.map((speedUp) => speedUp.comparisons));
  return comparisons > 1 ? `; claims hold after correction for ${comparisons} comparisons (Holm)` : "";
}
