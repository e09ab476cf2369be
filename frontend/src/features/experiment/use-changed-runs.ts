import { useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { listRunsQueryKey } from "@/lib/client/@tanstack/react-query.gen";
import { listRuns } from "@/lib/client/sdk.gen";
import type { ListRunsData, RunPage, RunSummary } from "@/lib/client/types.gen";
import { useThrottled } from "@/lib/events/use-throttled";
import { RUNS } from "./use-experiment";

/** Runs that one request may name. */
const MOST = 100;

type Listed = RunPage | { readonly pages: readonly RunPage[] };
type Asked = ListRunsData["query"];

const pageWith = (page: RunPage, by: ReadonlyMap<string, RunSummary>): RunPage => ({
  ...page,
  items: page.items.map((run) => by.get(run.id) ?? run),
});

/** A list in which some runs are as they are now; the others are the very same. */
export function withRuns<T extends Listed>(list: T, runs: readonly RunSummary[]): T {
  const by = new Map(runs.map((run) => [run.id, run]));
  return "pages" in list
    ? { ...list, pages: list.pages.map((page) => pageWith(page, by)) }
    : { ...list, ...pageWith(list as RunPage, by) };
}

/**
 * A function that is told which run has taken steps. Of the lists of runs on the page, only those rows are fetched
 * anew, at most once per `interval` ms.
 */
export function useChangedRuns(experiment: string, interval: number): (run: string) => void {
  const client = useQueryClient();
  const changed = useRef(new Set<string>());
  const queryKey = listRunsQueryKey({ query: { experiment, limit: RUNS } });

  const fetchNew = async (): Promise<void> => {
    const named = [...changed.current];
    changed.current.clear();
    const again = () => {
      for (const run of named) changed.current.add(run);
      refresh();
    };
    if (named.length > MOST) return client.invalidateQueries({ queryKey }, { cancelRefetch: false });
    await client.invalidateQueries({ queryKey, type: "inactive", refetchType: "none" });
    if (client.isFetching({ queryKey }) > 0) return again(); // its answer may be older than what is asked for here
    const lists = client.getQueryCache().findAll({ queryKey, type: "active" });
    const answers = new Map<string, Promise<readonly RunSummary[]>>();
    try {
      for (const { queryKey: key } of lists) {
        const { reported, energy } = (key[0] as { query?: Asked }).query ?? {};
        const kind = JSON.stringify([reported, energy]);
        const query = { experiment, limit: RUNS, reported, energy, run: named };
        const asked =
          answers.get(kind) ?? listRuns({ query, throwOnError: true }).then(({ data }) => data.items);
        answers.set(kind, asked);
        const runs = await asked;
        client.setQueryData<Listed>(key, (list) => list && withRuns(list, runs));
      }
    } catch {
      again();
    }
  };
  const refresh = useThrottled(fetchNew, interval);
  return (run) => {
    changed.current.add(run);
    refresh();
  };
}
