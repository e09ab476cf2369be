import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import type { Axis } from "@/lib/api/types";
import {
  listMetricsOptions,
  listRunsOptions,
  listRunsQueryKey,
  readBandsQueryKey,
  readComparisonOptions,
  readExperimentOptions,
  readTuningOptions,
} from "@/lib/client/@tanstack/react-query.gen";
import { listRuns, readBands } from "@/lib/client/sdk.gen";
import { applied } from "@/lib/columns/increments";
import { bandsOptions, POINTS } from "./asked";
import { ALWAYS, type Presence } from "./presence";

export const RUNS = 500;
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

/** How runs are listed. */
export interface RunsAsked {
  /** Of a tuned experiment: those that are reported, or those of trials. */
  readonly reported?: boolean;
  /** With their energy, which the server reads from samples. */
  readonly energy?: boolean;
  readonly enabled?: boolean;
}

/** The first runs. */
export function useRuns(id: string, { reported, energy, enabled = true }: RunsAsked = {}) {
  return useQuery({
    ...listRunsOptions({ query: { experiment: id, limit: RUNS, reported, energy } }),
    enabled,
    // while the energy is read, the rows stay
    placeholderData: (before) => (before?.items[0]?.experiment_id === id ? before : undefined),
  });
}

/** Runs behind the first answer, page after page, once somebody wants them. */
export function useFurtherRuns(
  id: string,
  { reported, energy }: RunsAsked,
  after: string | null | undefined,
  wanted: boolean,
) {
  const asked = { experiment: id, limit: RUNS, reported, energy };
  const query = useInfiniteQuery({
    queryKey: [...listRunsQueryKey({ query: asked }), "after", after],
    enabled: wanted && Boolean(after),
    initialPageParam: after ?? undefined,
    queryFn: async ({ pageParam: cursor, signal }) =>
      (await listRuns({ query: { ...asked, cursor }, signal, throwOnError: true })).data,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const { hasNextPage, isFetching, isError, fetchNextPage } = query;
  useEffect(() => {
    if (wanted && hasNextPage && !isFetching && !isError) void fetchNextPage();
  }, [wanted, hasNextPage, isFetching, isError, fetchNextPage]);
  return query;
}

/** All runs, page after page, and whether all of them are there. */
export function useAllRuns(id: string, asked: RunsAsked = {}) {
  const first = useRuns(id, asked);
  const further = useFurtherRuns(id, asked, first.data?.next_cursor, asked.enabled ?? true);
  const runs = useMemo(
    () => [...(first.data?.items ?? []), ...(further.data?.pages.flatMap((page) => page.items) ?? [])],
    [first.data, further.data],
  );
  const more = Boolean(first.data?.next_cursor) && !(further.isSuccess && !further.hasNextPage);
  return { runs, complete: !more };
}

export function useTuning(id: string) {
  return useQuery(readTuningOptions({ path: { experiment_id: id } }));
}

/** What the workload reports beside accuracy and loss: declared by runs when they begin. */
export function useFurther(id: string) {
  return useQuery(listMetricsOptions({ path: { experiment_id: id } }));
}

/** What is in view is read with every change, all else once since it is shown. It comes and goes without a render. */
export const isWanted =
  (presence: Presence) =>
  ({ state }: { state: { dataUpdatedAt: number } }): boolean =>
    presence.is() || state.dataUpdatedAt < presence.since;

/** The key of all bands of an experiment. */
export function bandsKey(id: string) {
  const path = { experiment_id: id };
  return [{ _id: readBandsQueryKey({ path, query: { metric: [] } })[0]._id, path }];
}

/** Mean and band per variant. While another axis is fetched, the old answer stays, under its own axis. */
export function useBands(id: string, axis: Axis, metrics: readonly string[], presence = ALWAYS) {
  const client = useQueryClient();
  const path = { experiment_id: id };
  const metric = [...metrics];
  const options = bandsOptions(id, axis, metric);
  return useQuery({
    queryKey: options.queryKey,
    queryFn: async ({ signal }) => {
      const before = client.getQueryData(options.queryKey);
      const query = { metric, axis, points: POINTS, since: before?.version || undefined };
      const { data } = await readBands({ path, query, signal, throwOnError: true });
      return applied(data, before);
    },
    structuralSharing: false, // what did not change is the same array already
    placeholderData: keepPreviousData,
    enabled: isWanted(presence),
  });
}
