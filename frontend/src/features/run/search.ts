import type { ChartAxis } from "@/lib/api/types";
import { furtherOf } from "@/lib/charts/added-names";
import { smoothingIn } from "@/lib/charts/smoothing";
import { zoomFrom } from "@/lib/charts/zoom";
import { AXES } from "@/lib/format/quantities";
import { windowFrom } from "./asked-window";

/** What of the run is in view; all of it is in the URL. */
export interface RunSearch {
  axis?: ChartAxis;
  /** The part of the horizontal axis in view, "1.5_3.2" in its unit. */
  x?: string;
  /** Losses, and what else is no share, on a logarithmic scale. */
  scale?: "log";
  /** The horizontal axis of curves on a logarithmic scale. */
  xscale?: "log";
  /** Metrics that have charts of their own, each with its axis if that is not `axis`. */
  more?: string;
  /** Curves with their moving averages, each over so many percent of the points. */
  smooth?: number;
  /** The part of the timeline in view, "12.5_12.625", s; or the step in view. */
  t?: string;
  step?: number;
  /** How its settings are shown; otherwise all in words. */
  spec?: "defaults" | "json";
  /** Looked for in the log. */
  find?: string;
  /** Lines with errors are looked for in it. */
  errors?: "yes";
  /** Only this rank's log lines; -1 is mpirun and the supervisor. */
  rank?: number;
}

export function runSearch({
  axis,
  x,
  scale,
  xscale,
  more,
  smooth,
  t,
  step,
  spec,
  rank,
  find,
  errors,
}: Record<string, unknown>): RunSearch {
  return {
    axis: AXES.find((known) => known === axis && known !== "clock"),
    x: typeof x === "string" && zoomFrom(x) ? x : undefined,
    scale: scale === "log" ? scale : undefined,
    xscale: xscale === "log" ? xscale : undefined,
    more: typeof more === "string" && furtherOf(more).length > 0 ? more : undefined,
    smooth: smoothingIn(smooth),
    t: typeof t === "string" && windowFrom(t) ? t : undefined,
    step: typeof step === "number" && Number.isInteger(step) && step >= 1 ? step : undefined,
    spec: spec === "defaults" || spec === "json" ? spec : undefined,
    find: typeof find === "string" || typeof find === "number" ? String(find) || undefined : undefined,
    errors: errors === "yes" ? errors : undefined,
    rank: typeof rank === "number" && Number.isInteger(rank) && rank >= -1 ? rank : undefined,
  };
}
