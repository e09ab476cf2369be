import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { readExperimentOptions } from "@/lib/client/@tanstack/react-query.gen";

/** Names of experiments by their ids: "#7 Digits, three ways". */
export type ExperimentNames = ReadonlyMap<string, string>;

const NONE: ExperimentNames = new Map();
/** So many experiments are named, the first of a list: each takes a request, and a list may have a hundred. */
const MOST = 12;

/** What the experiments of some runs are called: a list of runs has their ids alone. Those that cannot be read lack. */
export function useExperimentNames(runs: readonly { experiment_id: string }[]): ExperimentNames {
  const client = useQueryClient();
  const ids = [...new Set(runs.map(({ experiment_id: id }) => id))].slice(0, MOST).sort();
  const name = async (id: string): Promise<[string, string][]> => {
    try {
      const read = readExperimentOptions({ path: { experiment_id: id } });
      const view = await client.ensureQueryData({ ...read, retry: false });
      return [[id, `#${view.number} ${view.name}`]];
    } catch {
      return [];
    }
  };
  const query = useQuery({
    queryKey: ["experiment-names", ...ids],
    queryFn: async (): Promise<ExperimentNames> => new Map((await Promise.all(ids.map(name))).flat()),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });
  return query.data ?? NONE;
}
