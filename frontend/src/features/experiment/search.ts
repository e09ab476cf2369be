import type { ChartAxis } from "@/lib/api/types";
import { furtherOf } from "@/lib/charts/added-names";
import { smoothingIn } from "@/lib/charts/smoothing";
import { zoomFrom } from "@/lib/charts/zoom";
import { AXES } from "@/lib/format/quantities";

/** What of the experiment is in view; all of it is in the URL. */
export interface ExperimentSearch {
  axis?: ChartAxis;
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
  /** The horizontal axis of curves on a logarithmic scale. */
  xscale?: "log";
  /** Every seed as a line, or their median, in place of their mean. */
  seeds?: "each" | "median";
  /** Curves with their moving averages, each over so many percent of the points. */
  smooth?: number;
  /** The part of the horizontal axis in view, "1.5_3.2" in its unit. */
  x?: string;
  tab?: "json";
  /** The window that asks how many seeds are to be added is open. */
  add?: "seeds";
  /** Metrics that have charts of their own, each with its axis if that is not `axis`: "p_at_3.train_loss-samples". */
  more?: string;
  /** The parameter that trials are drawn over. */
  by?: string;
  /** The column by which the table of runs is sorted, "time" or "-time". */
  sort?: string;
  /** Runs under the variant and place that they are of. */
  group?: "variant";
  /** The groups of runs that are open, "local/8/Sync EASGD". */
  open?: readonly string[];
  /** Every run is listed, and not only the first. */
  all?: "yes";
  /** Only these runs of a tuned experiment. */
  runs?: "reported" | "trials";
  /** Columns of the table of runs, "variant.seed.loss"; otherwise the usual ones. */
  columns?: string;
  /** Phases over time in place of their sums. */
  phases?: "time";
}

/** An address has room for so many names. */
const MOST_OPEN = 40;

export function experimentSearch(search: Record<string, unknown>): ExperimentSearch {
  const { axis, cluster, workers, hide, y, scale, seeds, x, tab, more, by, sort, group, runs } = search;
  const { columns, phases, smooth, xscale, open, all } = search;
  return {
    axis: AXES.find((known) => known === axis && known !== "clock"),
    versions: typeof search.versions === "number" ? search.versions : undefined,
    cluster: typeof cluster === "string" ? cluster : undefined,
    workers: typeof workers === "number" && workers > 0 ? workers : undefined,
    hide: typeof hide === "string" || typeof hide === "number" ? String(hide) || undefined : undefined,
    y: y === "close" ? y : undefined,
    scale: scale === "log" ? scale : undefined,
    xscale: xscale === "log" ? xscale : undefined,
    seeds: seeds === "each" || seeds === "median" ? seeds : undefined,
    smooth: smoothingIn(smooth),
    x: typeof x === "string" && zoomFrom(x) ? x : undefined,
    tab: tab === "json" ? tab : undefined,
    add: search.add === "seeds" ? search.add : undefined,
    more: typeof more === "string" && furtherOf(more).length > 0 ? more : undefined,
    by: typeof by === "string" ? by : undefined,
    sort: typeof sort === "string" ? sort : undefined,
    group: group === "variant" ? group : undefined,
    open: Array.isArray(open) && open.length > 0 ? open.map(String).slice(0, MOST_OPEN) : undefined,
    all: all === "yes" ? all : undefined,
    runs: runs === "reported" || runs === "trials" ? runs : undefined,
    columns: typeof columns === "string" ? columns : undefined,
    phases: phases === "time" ? phases : undefined,
  };
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
