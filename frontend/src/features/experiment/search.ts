import type { Axis } from "@/lib/api/types";
import { zoomFrom } from "@/lib/charts/zoom";
import { AXES } from "@/lib/format/quantities";

/** What of the experiment is in view; all of it is in the URL. */
export interface ExperimentSearch {
  axis?: Axis;
  /** Its versions are listed, and the specification of this one is shown; 0: of none. */
  versions?: number;
  cluster?: string;
  workers?: number;
  /** Positions of variants that are switched off, such as "0.3". */
  hide?: string;
  /** Close-up of where the curves end. */
  y?: "close";
  /** Losses, and what else is no share, on a logarithmic scale. */
  scale?: "log";
  /** Every seed as a line, or their median, in place of their mean. */
  seeds?: "each" | "median";
  /** The part of the horizontal axis in view, "1.5_3.2" in its unit. */
  x?: string;
  tab?: "json";
  /** Further metrics that have charts, such as "p_at_3.active_share". */
  more?: string;
  /** The parameter that trials are drawn over. */
  by?: string;
  /** The column by which the table of runs is sorted, "time" or "-time". */
  sort?: string;
  /** Runs under the variant and place that they are of. */
  group?: "variant";
  /** Only these runs of a tuned experiment. */
  runs?: "reported" | "trials";
}

export function experimentSearch(search: Record<string, unknown>): ExperimentSearch {
  const { axis, cluster, workers, hide, y, scale, seeds, x, tab, more, by, sort, group, runs } = search;
  return {
    axis: AXES.find((known) => known === axis && known !== "clock"),
    versions: typeof search.versions === "number" ? search.versions : undefined,
    cluster: typeof cluster === "string" ? cluster : undefined,
    workers: typeof workers === "number" && workers > 0 ? workers : undefined,
    hide: typeof hide === "string" || typeof hide === "number" ? String(hide) || undefined : undefined,
    y: y === "close" ? y : undefined,
    scale: scale === "log" ? scale : undefined,
    seeds: seeds === "each" || seeds === "median" ? seeds : undefined,
    x: typeof x === "string" && zoomFrom(x) ? x : undefined,
    tab: tab === "json" ? tab : undefined,
    more: typeof more === "string" && furtherOf(more).length > 0 ? more : undefined,
    by: typeof by === "string" ? by : undefined,
    sort: typeof sort === "string" ? sort : undefined,
    group: group === "variant" ? group : undefined,
    runs: runs === "reported" || runs === "trials" ? runs : undefined,
  };
}

/** The names in a list of further metrics; what cannot be one is left out. */
export function furtherOf(more: string | undefined): readonly string[] {
  return (more ?? "").split(".").filter((name) => /^[a-z][a-z0-9_]{0,39}$/.test(name));
}

export function hiddenVariants(hide: string | undefined): ReadonlySet<number> {
  return new Set((hide ?? "").split(/\D+/).filter(Boolean).map(Number));
}

/** The same set with one position switched. */
export function toggled(hidden: ReadonlySet<number>, index: number): string | undefined {
  const next = new Set(hidden);
  if (!next.delete(index)) next.add(index);
  return [...next].sort((a, b) => a - b).join("_") || undefined;
}
