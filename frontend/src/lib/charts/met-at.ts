import type { Target } from "@/lib/client/types.gen";

/** Whether a target asks for small values: that of a loss. */
const small = ({ metric }: Target) => (metric ?? "validation_accuracy").endsWith("_loss");

/** The x of the first point of a curve that meets a target; undefined if none does. */
export function metAt(target: Target, x: ArrayLike<number>, y: ArrayLike<number | null>): number | undefined {
  for (let i = 0; i < y.length; i += 1) {
    const value = y[i];
    if (value === null || value === undefined || Number.isNaN(value)) continue;
    if (small(target) ? value <= target.value : value >= target.value) return x[i];
  }
  return undefined;
}
