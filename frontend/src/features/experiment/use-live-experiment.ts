import { useRef } from "react";
import type { ChartAxis } from "@/lib/api/types";
import {
  listMetricsQueryKey,
  listRunsQueryKey,
  readComparisonQueryKey,
  readExperimentQueryKey,
  readTuningQueryKey,
} from "@/lib/client/@tanstack/react-query.gen";
import type { StreamEvent } from "@/lib/events/stream-event";
import { useRefresh } from "@/lib/events/use-refresh";
import { useStream } from "@/lib/events/use-stream";
import { useChangedRuns } from "./use-changed-runs";
import { bandsKey, RUNS } from "./use-experiment";
import { seedsKey } from "./use-seeds";

/** Whether an event says that something was evaluated: steps alone move none of the curves. */
function useEvaluated(): (event: StreamEvent) => boolean {
  const last = useRef(new Map<string, string>());
  return (event) => {
    if (event.kind !== "points") return true;
    const now = `${event.accuracy} ${event.loss}`;
    if (last.current.get(event.id) === now) return false;
    last.current.set(event.id, now);
    return true;
  };
}

/**
 * Fetch what the stream says has changed: curves within half a second of an evaluation, figures and tables a little
 * later, and later still where only steps were taken. `steps`: some chart grows with these.
 */
export function useLiveExperiment(id: string, axis: ChartAxis, steps: boolean): void {
  const path = { experiment_id: id };
  const experiment = useRefresh(readExperimentQueryKey({ path }), 1000);
  const ofBands = bandsKey(id);
  const bands = useRefresh(ofBands, 400);
  const grown = useRefresh(ofBands, 2000);
  const seeds = useRefresh(seedsKey(id), 5000);
  const comparison = useRefresh(readComparisonQueryKey({ path }), 2000);
  const figures = useRefresh(readComparisonQueryKey({ path }), 6000);
  const runs = useRefresh(listRunsQueryKey({ query: { experiment: id, limit: RUNS } }), 1500);
  const progress = useChangedRuns(id, 3000);
  const tuning = useRefresh(readTuningQueryKey({ path }), 1500);
  const metrics = useRefresh(listMetricsQueryKey({ path }), 3000);
  const evaluated = useEvaluated();
  useStream({ experiment: id }, (event) => {
    if (event.kind === "logs" || event.kind === "clusters") return;
    // bytes of an evaluation are known from the steps after it
    if (evaluated(event) || axis === "bytes") {
      bands();
      seeds();
    }
    if (event.kind === "points") {
      if (steps) {
        grown();
        seeds();
      }
      progress(event.id);
      figures();
      return;
    }
    experiment();
    tuning();
    metrics();
    runs();
    comparison();
  });
}
