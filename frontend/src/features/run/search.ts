import type { Axis } from "@/lib/api/types";
import { AXES } from "@/lib/format/quantities";

/** What of the run is in view; all of it is in the URL. */
export interface RunSearch {
  axis?: Axis;
  /** Only this rank's log lines; -1 is mpirun and the supervisor. */
  rank?: number;
}

export function runSearch({ axis, rank }: Record<string, unknown>): RunSearch {
  return {
    axis: AXES.find((known) => known === axis && known !== "clock"),
    rank: typeof rank === "number" && Number.isInteger(rank) && rank >= -1 ? rank : undefined,
  };
}
