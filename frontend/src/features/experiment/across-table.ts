import type { PooledRatio, SpeedUp } from "@/lib/client/types.gen";
import { formatRatio } from "@/lib/format/numbers";

type Ratio = Pick<SpeedUp | PooledRatio, "claim" | "ratio" | "low" | "high">;

/** A ratio, and its interval or what stands for one. */
export function ratioText(found: Ratio): { value: string; range: string } {
  const { claim, ratio, low, high } = found;
  if (claim === "baseline") return { value: "1×", range: "baseline" };
  if (claim === "no claim") return { value: formatRatio(ratio), range: "no claim" };
  if (high === null)
    return { value: formatRatio(ratio), range: low === null ? claim : `from ${formatRatio(low)}` };
  if (low === null) return { value: formatRatio(ratio), range: `up to ${formatRatio(high)}` };
  return { value: formatRatio(ratio), range: `${formatRatio(low)} to ${formatRatio(high)}` };
}
