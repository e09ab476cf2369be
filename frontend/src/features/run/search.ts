import type { Axis } from "@/lib/api/types";
import { zoomFrom } from "@/lib/charts/zoom";
import { AXES } from "@/lib/format/quantities";
import { windowFrom } from "./timeline-window";

/** What of the run is in view; all of it is in the URL. */
export interface RunSearch {
  axis?: Axis;
  /** The part of the horizontal axis in view, "1.5_3.2" in its unit. */
  x?: string;
  /** The part of the timeline in view, "12.5_12.625", s; or the step in view. */
  t?: string;
  step?: number;
  /** Only this rank's log lines; -1 is mpirun and the supervisor. */
  rank?: number;
}

export function runSearch({ axis, x, t, step, rank }: Record<string, unknown>): RunSearch {
  return {
    axis: AXES.find((known) => known === axis && known !== "clock"),
    x: typeof x === "string" && zoomFrom(x) ? x : undefined,
    t: typeof t === "string" && windowFrom(t) ? t : undefined,
    step: typeof step === "number" && Number.isInteger(step) && step >= 1 ? step : undefined,
    rank: typeof rank === "number" && Number.isInteger(rank) && rank >= -1 ? rank : undefined,
  };
}
