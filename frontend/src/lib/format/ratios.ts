import type { SpeedUp } from "@/lib/client/types.gen";

/**
 * The ratio as an estimate. Of a side that missed the target with every seed only a bound is known, and where nothing is
 * claimed, a ratio in which a seed missed it is not even one.
 */
export function estimated({ claim, ratio, censored, pairs }: SpeedUp): number | null {
  return censored > 0 && (claim === "no claim" || censored >= pairs) ? null : ratio;
}
