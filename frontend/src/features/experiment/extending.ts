import type { Comparison, ComparisonRow, ExperimentView } from "@/lib/client/types.gen";
import { whyNotExtended } from "@/lib/keeping/extensible";

/** As many seeds as an experiment can have. */
const MOST_SEEDS = 100;
/** As many as a cluster has where the document does not say. */
const USUAL_SEEDS = 3;

export interface Room {
  /** Runs that each further seed adds. */
  readonly runs: number;
  /** The seed that comes next, on the cluster with the fewest. */
  readonly next: number;
  readonly most: number;
}

/** What seeds may be added to an experiment; undefined: none, now or ever. */
export function roomFor(experiment: ExperimentView, comparison: Comparison | undefined): Room | undefined {
  const { spec } = experiment;
  const seeds = spec.clusters.map((cluster) => cluster.seeds ?? USUAL_SEEDS);
  const most = MOST_SEEDS - Math.max(...seeds);
  const runs = comparison?.rows.length ?? 0; // one row is a variant at a place, whose seeds are paired
  if (whyNotExtended(experiment) || runs === 0 || most < 1) return undefined;
  return { runs, next: (spec.first_seed ?? 0) + Math.min(...seeds), most };
}

/** How many seeds would show a ratio of 1.3 for all of these variants, and how many of them are lacking. */
export function lackingSeeds(rows: readonly ComparisonRow[]): { needed: number; more: number } | undefined {
  const found = rows.flatMap(({ speed_up: { seeds_needed: needed, pairs } }) =>
    needed ? [{ needed, more: needed - pairs }] : [],
  );
  return found.reduce<{ needed: number; more: number } | undefined>(
    (most, one) => (most && most.needed >= one.needed ? most : one),
    undefined,
  );
}
