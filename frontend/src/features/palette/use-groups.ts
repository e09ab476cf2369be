import { useComputedColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { explain, statusOf } from "@/lib/api/problem";
import {
  listAlgorithmsOptions,
  listClustersOptions,
  listExperimentsOptions,
  listRunsOptions,
  readExperimentQueryKey,
  readRunQueryKey,
} from "@/lib/client/@tanstack/react-query.gen";
import type { ExperimentView, Me, RunView } from "@/lib/client/types.gen";
import { nameFilter } from "@/lib/keeping/name-filter";
import { refusal } from "@/lib/people/roles";
import { useMe } from "@/lib/people/use-me";
import { useViews } from "@/lib/views/use-views";
import { deedsOfExperiment, deedsOfRun } from "./deeds";
import {
  actions,
  additions,
  allRuns,
  aroundRun,
  type Entry,
  experimentAt,
  type Group,
  ofAlgorithms,
  ofClusters,
  ofDeeds,
  ofExperiment,
  ofExperiments,
  ofRuns,
  ofViews,
  pages,
  runAt,
  runsSought,
  withWords,
} from "./entries";

/** Entries of a group at most, where the server or a catalogue has any number of them. */
const MOST = 6;
/** Pause after the last key before experiments are searched, ms. */
const PAUSE = 200;

/** All that fits what was typed; without words, what can be done, the pages, and the latest experiments. */
export function useGroups(words: string) {
  const me = useMe();
  const scheme = useComputedColorScheme("light");
  const project = useProject();
  const here = useHere(me);
  const run = useHereRun(me);
  const experiments = useExperiments(words);
  const runs = useRuns(words);
  const views = useViews();
  const named = words !== "";
  const algorithms = useQuery({ ...listAlgorithmsOptions(), enabled: named });
  const clusters = useQuery({ ...listClustersOptions(), enabled: named });
  const some = (entries: readonly Entry[]) => withWords(entries, words).slice(0, MOST);
  const all: Group[] = [
    {
      label: "This experiment",
      entries: withWords(
        here ? [...ofExperiment(here.id, here.number, me), ...here.added, ...here.deeds] : [],
        words,
      ),
    },
    { label: "This run", entries: withWords(run, words) },
    { label: "Actions", entries: withWords(actions(me, scheme, project), words) },
    { label: "Saved views", entries: some(ofViews(views.data?.items ?? [])) },
    { label: "Pages", entries: withWords(pages(me), words) },
    { label: named ? "Experiments" : "Latest experiments", entries: some(experiments.entries) },
    // the server has found them: their texts need not have the words
    { label: "Runs", entries: [...runs.entries, ...allRuns(words)] },
    { label: "Algorithms", entries: some(named ? ofAlgorithms(algorithms.data?.items ?? []) : []) },
    { label: "Clusters", entries: some(named ? ofClusters(clusters.data?.items ?? []) : []) },
  ];
  const failed = [experiments, runs, algorithms, clusters, views].find((query) => query.isError);
  return {
    groups: all.filter(({ entries }) => entries.length > 0),
    searching:
      experiments.searching || runs.searching || (named && (algorithms.isPending || clusters.isPending)),
    fault: failed && explain(failed.error),
  };
}

/** The project that the list of experiments, or the form of a new one, shows; undefined: none, or all. */
function useProject(): string | undefined {
  const { search } = useLocation();
  return "project" in search ? search.project : undefined;
}

/** The experiment whose page is shown, and its number once the page knows it. */
function useHere(me: Me | undefined) {
  const client = useQueryClient();
  const { pathname, searchStr } = useLocation();
  const id = experimentAt(pathname);
  if (id === undefined) return undefined;
  const key = readExperimentQueryKey({ path: { experiment_id: id } });
  const view = client.getQueryData<ExperimentView>(key);
  const may = view && refusal(me, "researcher", view.user) === undefined;
  const [deeds, added] = may ? [deedsOfExperiment(view), additions(view, searchStr)] : [[], []];
  return { id, number: view?.number, deeds: ofDeeds(deeds), added };
}

/** What can be done with the run whose page is shown, once the page knows it. */
function useHereRun(me: Me | undefined): Entry[] {
  const client = useQueryClient();
  const id = runAt(useLocation().pathname);
  const view = id && client.getQueryData<RunView>(readRunQueryKey({ path: { run_id: id } }));
  if (!view) return [];
  const experiment = client.getQueryData<ExperimentView>(
    readExperimentQueryKey({ path: { experiment_id: view.experiment_id } }),
  );
  // who may change a run is known with its experiment
  const may = experiment && refusal(me, "researcher", experiment.user) === undefined && !experiment.origin;
  return [...aroundRun(view, me), ...(may ? ofDeeds(deedsOfRun(view)) : [])];
}

/** The newest runs that an id, a number or a filter means; other words mean none. */
function useRuns(words: string) {
  const [settled] = useDebouncedValue(words, PAUSE);
  const sought = runsSought(settled);
  const query = useQuery({
    ...listRunsOptions({ query: { limit: MOST, ...sought } }),
    enabled: sought !== undefined,
  });
  const waits = runsSought(words) !== undefined && words !== settled;
  return {
    entries: sought && !waits ? ofRuns(query.data?.items ?? []) : [],
    searching: waits || (sought !== undefined && query.isFetching),
    // a filter that is being typed is wrong for a while
    isError: query.isError && statusOf(query.error) !== 422,
    error: query.error,
  };
}

/** Those of the server that fit; until they are there, those of the former search. */
function useExperiments(words: string) {
  const [settled] = useDebouncedValue(words, PAUSE);
  const query = useQuery({
    ...listExperimentsOptions({ query: { limit: MOST, filter: nameFilter(settled) } }),
    placeholderData: keepPreviousData,
  });
  return {
    entries: ofExperiments(query.data?.items ?? []),
    searching: words !== settled || query.isPending || query.isPlaceholderData,
    isError: query.isError,
    error: query.error,
  };
}
