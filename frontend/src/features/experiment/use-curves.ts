import type { Axis, Metric } from "@/lib/api/types";
import type { ExperimentView } from "@/lib/client/types.gen";
import { bandsOf, type Group } from "./groups";
import type { Seeded } from "./metric-chart";
import { useAllRuns, useBands, type Wanted } from "./use-experiment";
import { seedsOf, useSeeds } from "./use-seeds";

/** Some metrics of a group over an axis: bands, and the seeds behind them. */
export function useCurves(
  experiment: ExperimentView,
  group: Group | undefined,
  axis: Axis,
  metrics: readonly Metric[],
  wanted: Wanted = "now",
) {
  const query = useBands(experiment.id, axis, metrics, wanted);
  const bands = group ? bandsOf(query.data?.bands ?? [], group) : [];
  const single = useSeeds(experiment.id, bands, axis, wanted);
  const { runs } = useAllRuns(experiment.id, { reported: experiment.spec.tuning ? true : undefined });
  const numbers = new Map(runs.map((run) => [run.id, run.seed]));
  const drawn = query.data?.axis ?? axis;
  const seeded: Seeded[] = bands.map((band) => ({
    band,
    seeds: seedsOf(band, single.data, drawn, numbers),
  }));
  return { query, seeded, drawn, runs, data: [query.data, single.data] };
}
