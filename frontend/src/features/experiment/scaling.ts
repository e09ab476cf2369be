import type { RunSummary } from "@/lib/client/types.gen";
import { geometricInterval } from "@/lib/format/student";

/** How many times as fast a variant is with so many workers as with the fewest. */
export interface ScalingPoint {
  readonly workers: number;
  /** Geometric mean over seeds that met the target with both numbers of workers; the least and the greatest of them. */
  readonly ratio: number;
  readonly least: number;
  readonly greatest: number;
  /** 95% t interval of the geometric mean; null below three seeds. */
  readonly low: number | null;
  readonly high: number | null;
  readonly seeds: number;
  /** The ratio over the factor of workers. */
  readonly efficiency: number;
}

/** One cluster with several numbers of workers. */
export interface Scaling {
  readonly cluster: string;
  readonly simulated: boolean;
  /** The fewest workers, with which each ratio is 1. */
  readonly base: number;
  readonly workers: readonly number[];
  readonly rows: readonly { readonly variant: string; readonly points: readonly ScalingPoint[] }[];
}

type Timed = RunSummary & { time_to_target: number };

const grouped = <K, V>(items: readonly V[], key: (item: V) => K): Map<K, V[]> => {
  const found = new Map<K, V[]>();
  for (const item of items) found.set(key(item), [...(found.get(key(item)) ?? []), item]);
  return found;
};

/** Times to the target against numbers of workers, by cluster; of clusters with two numbers or more alone. */
export function scalingOf(runs: readonly RunSummary[], variants: readonly string[]): Scaling[] {
  const timed = runs.filter((run): run is Timed => (run.time_to_target ?? 0) > 0);
  return [...grouped(timed, (run) => run.cluster)].flatMap(([cluster, here]) => {
    const several = variants
      .map((variant) => ({ variant, mine: here.filter((run) => run.variant === variant) }))
      .filter(({ mine }) => new Set(mine.map((run) => run.workers)).size > 1);
    const workers = [...new Set(several.flatMap(({ mine }) => mine.map((run) => run.workers)))];
    workers.sort((a, b) => a - b);
    const [base] = workers;
    if (base === undefined) return [];
    const rows = several
      .map(({ variant, mine }) => ({ variant, points: pointsOf(mine, workers, base) }))
      .filter(({ points }) => points.length > 1);
    const simulated = here.some((run) => run.simulated);
    return rows.length > 0 ? [{ cluster, simulated, base, workers, rows }] : [];
  });
}

function pointsOf(mine: readonly Timed[], workers: readonly number[], base: number): ScalingPoint[] {
  const times = (count: number) =>
    new Map(mine.filter((run) => run.workers === count).map((run) => [run.seed, run.time_to_target]));
  const first = times(base);
  return workers.flatMap((count) => {
    const ratios = [...times(count)].flatMap(([seed, time]) => {
      const before = first.get(seed);
      return before === undefined ? [] : [before / time];
    });
    if (ratios.length === 0) return [];
    const ratio = Math.exp(ratios.reduce((sum, each) => sum + Math.log(each), 0) / ratios.length);
    const [low, high] = geometricInterval(ratios) ?? [null, null];
    const [least, greatest] = [Math.min(...ratios), Math.max(...ratios)];
    const efficiency = (ratio * base) / count;
    return [{ workers: count, ratio, least, greatest, low, high, seeds: ratios.length, efficiency }];
  });
}
