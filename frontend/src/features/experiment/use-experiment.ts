import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { Axis } from "@/lib/api/types";
import {
  listRunsOptions,
  listRunsQueryKey,
  readBandsOptions,
  readBandsQueryKey,
  readComparisonOptions,
  readComparisonQueryKey,
  readExperimentOptions,
  readExperimentQueryKey,
  readTuningOptions,
  readTuningQueryKey,
} from "@/lib/client/@tanstack/react-query.gen";
import { useRefresh } from "@/lib/events/use-refresh";
import { useStream } from "@/lib/events/use-stream";

/** Every series of evaluations there can be: see `metricsOf` of a run. */
export const METRICS = ["validation_accuracy", "validation_loss", "test_accuracy", "test_loss"] as const;
export type Evaluated = (typeof METRICS)[number];
const POINTS = 400;
const RUNS = 500;
const QUEUE_MS = 15_000;

export function useExperiment(id: string) {
  return useQuery({
    ...readExperimentOptions({ path: { experiment_id: id } }),
    // what it waits for changes without an event of its own
    refetchInterval: (query) => (query.state.data?.waiting.length ? QUEUE_MS : false),
  });
}

export function useComparison(id: string) {
  return useQuery(readComparisonOptions({ path: { experiment_id: id } }));
}

/** All runs, or of a tuned experiment those that are reported, or those of trials. */
export function useRuns(id: string, reported?: boolean, enabled = true) {
  return useQuery({
    ...listRunsOptions({ query: { experiment: id, limit: RUNS, reported } }),
    enabled,
  });
}

export function useTuning(id: string) {
  return useQuery(readTuningOptions({ path: { experiment_id: id } }));
}

/** Mean and band per variant. While another axis is fetched, the old answer stays, under its own axis. */
export function useBands(id: string, axis: Axis) {
  return useQuery({
    ...readBandsOptions({
      path: { experiment_id: id },
      query: { metric: [...METRICS], axis, points: POINTS },
    }),
    placeholderData: keepPreviousData,
  });
}

/** Fetch what the stream says has changed: curves within half a second, figures and tables a little later. */
export function useLiveExperiment(id: string): void {
  const path = { experiment_id: id };
  const experiment = useRefresh(readExperimentQueryKey({ path }), 1000);
  const bands = useRefresh([{ _id: readBandsQueryKey({ path, query: { metric: [] } })[0]._id, path }], 400);
  const comparison = useRefresh(readComparisonQueryKey({ path }), 1500);
  const runs = useRefresh(listRunsQueryKey({ query: { experiment: id, limit: RUNS } }), 1000);
  const tuning = useRefresh(readTuningQueryKey({ path }), 1500);
  useStream({ experiment: id }, (event) => {
    if (event.kind === "logs" || event.kind === "clusters") return;
    if (event.kind !== "points") {
      experiment();
      tuning();
    }
    bands();
    runs();
    comparison();
  });
}
