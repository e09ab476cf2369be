import type { Crossing } from "@/lib/charts/series";
import type { ExperimentView, RunSummary } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";
import type { Seeded } from "./metric-chart";

/** When the runs behind the curves that are switched on met the target, each as a dot in the colour of its variant. */
export function crossingsOf(
  experiment: ExperimentView,
  seeded: readonly Seeded[],
  runs: readonly RunSummary[],
  hidden: ReadonlySet<number>,
): Crossing[] {
  const drawn = new Set(seeded.flatMap(({ band }) => band.runs));
  return runs.flatMap(({ id, variant, time_to_target: x }) => {
    const index = experiment.variants.indexOf(variant);
    return x !== null && drawn.has(id) && !hidden.has(index) ? { x, style: variantStyle(index) } : [];
  });
}
