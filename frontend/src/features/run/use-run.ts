import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Axis, CommonMetric, Metric } from "@/lib/api/types";
import {
  listMetricsOptions,
  readExperimentOptions,
  readExperimentQueryKey,
  readRunOptions,
  readRunQueryKey,
} from "@/lib/client/@tanstack/react-query.gen";
import type { RunView, SeriesAnswer } from "@/lib/client/types.gen";
import { fetchSeries } from "@/lib/columns/series-increments";
import { useRefresh } from "@/lib/events/use-refresh";
import { useStream } from "@/lib/events/use-stream";

const OWN: readonly CommonMetric[] = ["train_loss", "communication_fraction"];

/** What is drawn of a run; evaluations score the validation part, or the test part where there was none. */
export function metricsOf(part: "validation" | "test" | null): readonly CommonMetric[] {
  return part === "test"
    ? ["test_accuracy", "test_loss", ...OWN]
    : ["validation_accuracy", "validation_loss", ...OWN];
}
const POINTS = 600;
const QUEUE_MS = 15_000;

export function useRun(id: string) {
  return useQuery({
    ...readRunOptions({ path: { run_id: id } }),
    // what it waits for changes without an event of its own
    refetchInterval: (query) => (query.state.data?.waiting ? QUEUE_MS : false),
  });
}

/** The experiment of a run, live: its name, its target, the variant's colour. Of its events, those of other runs are none of this one's. */
export function useExperimentOf(id: string) {
  const path = { experiment_id: id };
  const refresh = useRefresh(readExperimentQueryKey({ path }), 2000);
  useStream({ experiment: id }, (event) => {
    if (event.kind === "experiment" || event.kind === "reset") refresh();
  });
  return useQuery(readExperimentOptions({ path }));
}

/** The number of training items, as its first rank reported it; undefined: it did not. */
export function trainingItems({ phases }: RunView): number | undefined {
  const items = Number(phases.find(({ rank }) => rank === 0)?.notes["training items"]);
  return items > 0 ? items : undefined;
}

/** What its workload reports beside accuracy and loss. */
export function useFurtherOf(experiment: string) {
  return useQuery(listMetricsOptions({ path: { experiment_id: experiment } }));
}

const seriesKey = (id: string) => ["series", id] as const;

export function useSeries(id: string, metrics: readonly Metric[], axis: Axis) {
  const client = useQueryClient();
  const queryKey = [...seriesKey(id), axis, ...metrics];
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => {
      const asked = { runs: [id], metrics: [...metrics], axis, points: POINTS };
      return fetchSeries(asked, client.getQueryData<SeriesAnswer>(queryKey), signal);
    },
    structuralSharing: false, // what did not change is the same array already
    placeholderData: keepPreviousData,
  });
}

/** Fetch what the stream says has changed. */
export function useLiveRun(id: string): void {
  const run = useRefresh(readRunQueryKey({ path: { run_id: id } }), 700);
  const series = useRefresh(seriesKey(id), 300);
  useStream({ run: id }, (event) => {
    if (event.kind === "logs" || event.kind === "clusters" || event.kind === "experiment") return;
    run();
    series();
  });
}
