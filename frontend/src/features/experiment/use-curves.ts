import type { ChartAxis, Metric } from "@/lib/api/types";
import { askedAxis, bandInEpochs, drawnAxis, inEpochs } from "@/lib/charts/epochs";
import type { ExperimentView, RunSummary } from "@/lib/client/types.gen";
import { bandsOf, type Group } from "./groups";
import type { Seeded } from "./metric-chart";
import { ALWAYS } from "./presence";
import { useBands } from "./use-experiment";
import { seedsOf, useSeeds } from "./use-seeds";

/** Some metrics of a group over an axis: bands, and the seeds behind them. `runs`: those of the experiment, as far as they are known. */
export function useCurves(
  experiment: ExperimentView,
  group: Group | undefined,
  axis: ChartAxis,
  metrics: readonly Metric[],
  runs: readonly RunSummary[],
  presence = ALWAYS,
) {
  const asked = askedAxis(axis);
  const items = experiment.training_items;
  const query = useBands(experiment.id, asked, metrics, presence);
  const bands = group ? bandsOf(query.data?.bands ?? [], group) : [];
  const single = useSeeds(experiment.id, bands, asked, presence);
  const numbers = new Map(runs.map((run) => [run.id, run.seed]));
  const answered = query.data?.axis ?? asked;
  const drawn = drawnAxis(axis, answered, items);
  const seeded: Seeded[] = bands.map((band) => {
    const seeds = seedsOf(band, single.data, answered, numbers);
    return drawn === "epochs" && items ? overEpochs({ band, seeds }, items) : { band, seeds };
  });
  return { query, seeded, drawn };
}

const overEpochs = ({ band, seeds }: Seeded, items: number): Seeded => ({
  band: bandInEpochs(band, items),
  seeds: seeds.map((seed) => ({ ...seed, x: inEpochs(seed.x, items) })),
});
