import type { Axis } from "@/lib/api/types";
import { zoomFrom } from "@/lib/charts/zoom";
import { AXES } from "@/lib/format/quantities";

/** What of the run is in view; all of it is in the URL. */
export interface RunSearch {
  axis?: Axis;
  /** The part of the horizontal axis in view, "1.5_3.2" in its unit. */
  x?: string;
  /** Only this rank's log lines; -1 is mpirun and the supervisor. */
  rank?: number;
}

export function runSearch({ axis, x, rank }: Record<string, unknown>): RunSearch {
  return {
    axis: AXES.find((known) => known === axis && known !== "clock"),
    x: typeof x === "string" && zoomFrom(x) ? x : undefined,
    rank: typeof rank === "number" && Number.isInteger(rank) && rank >= -1 ? rank : undefined,
  };
}
