import type { ChartAxis } from "@/lib/api/types";
import { metAt } from "@/lib/charts/met-at";
import type { Crossing } from "@/lib/charts/series";
import type { ExperimentView, RunSummary } from "@/lib/client/types.gen";
import { colorOf, variantStyle } from "@/lib/theme/palette";
import type { Seeded } from "./metric-chart";

/**
 * Where the runs behind the curves that are switched on met the target, each as a dot in the colour of its variant. On
 * the train clock the engine tells it; on another axis it is the first evaluation there that meets it, of the seeds
 * that are known.
 */
export function crossingsOf(
  experiment: ExperimentView,
  seeded: readonly Seeded[],
  runs: readonly RunSummary[],
  hidden: ReadonlySet<number>,
  axis: ChartAxis,
): Crossing[] {
  const { target } = experiment.spec;
  const metric = target?.metric ?? "validation_accuracy";
  const drawn = new Set(seeded.flatMap(({ band }) => band.runs));
  const curves = new Map(
    seeded
      .filter(({ band }) => band.metric === metric)
      .flatMap(({ seeds }) => seeds.map((seed) => [seed.run, seed])),
  );
  return runs.flatMap(({ id, variant, time_to_target: time }) => {
    const index = experiment.variants.indexOf(variant);
    if (time === null || !drawn.has(id) || hidden.has(index)) return [];
    const curve = curves.get(id);
    const x = axis === "clock" ? time : target && curve && metAt(target, curve.x, curve.y);
    return x === undefined || x === null ? [] : [{ x, style: variantStyle(colorOf(experiment, variant)) }];
  });
}
