import type { RunSummary } from "@/lib/client/types.gen";
import { MOST_COMPARED, MOST_EXPERIMENTS } from "@/lib/ui/use-selected";

/** What a comparison is asked for, and of it what is left out because it takes no more. */
export interface Rows {
  readonly rows: readonly string[];
  /** Of how many experiments these are, and of how many the runs. */
  readonly experiments: number;
  readonly of: number;
  /** Variants that are left out. */
  readonly more: number;
}

export const experimentsOf = (runs: readonly RunSummary[]): number =>
  new Set(runs.map(({ experiment_id }) => experiment_id)).size;

/** The rows of a comparison that some runs belong to: of the first experiments, as many as it takes. */
export function rowsOf(runs: readonly RunSummary[]): Rows {
  const variants = new Map(
    runs.map((run) => [[run.experiment_id, run.cluster, run.workers, run.variant].join("/"), run]),
  );
  const first = new Set([...new Set(runs.map((run) => run.experiment_id))].slice(0, MOST_EXPERIMENTS));
  const taken = [...variants].filter(([, run]) => first.has(run.experiment_id)).slice(0, MOST_COMPARED);
  return {
    rows: taken.map(([row]) => row),
    experiments: experimentsOf(taken.map(([, run]) => run)),
    of: experimentsOf(runs),
    more: variants.size - taken.length,
  };
}
