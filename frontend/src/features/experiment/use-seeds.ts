import {
  keepPreviousData,
  type QueryClient,
  type QueryKey,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import type { Axis } from "@/lib/api/types";
import type { Band, SeriesAnswer } from "@/lib/client/types.gen";
import { fetchSeries } from "@/lib/columns/series-increments";
import type { SeedCurve } from "./band-series";
import { ALWAYS } from "./presence";
import { bandsKey, isWanted } from "./use-experiment";

/** Of more runs no single seeds are drawn: nobody could tell them apart. */
export const MOST_RUNS = 150;
/** Points of all seeds together that are asked for. */
const MOST_POINTS = 24_000;
const [LEAST, MOST] = [16, 400];
/** Longest wait for bands, ms. */
const PATIENCE = 4000;

export const seedsKey = (experiment: string) => ["seeds", experiment] as const;

/** The evaluations of the runs behind some bands. */
export function useSeeds(experiment: string, bands: readonly Band[], axis: Axis, presence = ALWAYS) {
  const runs = [...new Set(bands.flatMap((band) => band.runs))];
  const metrics = [...new Set(bands.filter((band) => band.runs.length > 0).map(({ metric }) => metric))];
  const client = useQueryClient();
  const ofMetrics = [...seedsKey(experiment), axis, metrics];
  const queryKey = [...ofMetrics, runs];
  return useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      if (!client.getQueryData(queryKey)) await afterBands(client, experiment);
      const share = Math.floor(MOST_POINTS / (runs.length * metrics.length));
      const points = Math.min(MOST, Math.max(LEAST, share));
      const before = client.getQueryData<SeriesAnswer>(queryKey) ?? newest(client, ofMetrics);
      return fetchSeries({ runs, metrics, axis, points }, before, signal);
    },
    structuralSharing: false, // what did not change is the same array already
    enabled: (query) => runs.length > 0 && runs.length <= MOST_RUNS && isWanted(presence)(query),
    placeholderData: keepPreviousData,
  });
}

/** The last answer, whichever runs it is of: with each run that begins, only that one is read whole, and the others are kept once. */
function newest(client: QueryClient, ofMetrics: QueryKey): SeriesAnswer | undefined {
  const known = client.getQueryCache().findAll({ queryKey: ofMetrics });
  const [last] = known.sort((a, b) => b.state.dataUpdatedAt - a.state.dataUpdatedAt);
  return last?.state.data as SeriesAnswer | undefined;
}

/** Until no bands of an experiment are on their way, or they take too long: means are drawn before what lies behind them. */
async function afterBands(client: QueryClient, experiment: string): Promise<void> {
  const busy = () => client.isFetching({ queryKey: bandsKey(experiment) }) > 0;
  if (!busy()) return;
  await new Promise<void>((go) => {
    const end = () => {
      forget();
      clearTimeout(timer);
      go();
    };
    const timer = setTimeout(end, PATIENCE);
    const forget = client.getQueryCache().subscribe(() => busy() || end());
  });
}

/** The seeds behind a band, of an answer over the same axis. */
export function seedsOf(
  band: Band,
  answer: SeriesAnswer | undefined,
  axis: Axis,
  seeds: ReadonlyMap<string, number>,
): SeedCurve[] {
  if (answer?.axis !== axis) return [];
  const members = new Set(band.runs);
  return answer.series
    .filter((one) => one.metric === band.metric && members.has(one.run) && one.x.length > 0)
    .map(({ run, x, y }) => ({ run, seed: seeds.get(run), x, y }));
}
