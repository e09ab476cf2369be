import type { TimelineView } from "@/lib/client/types.gen";
import type { Window } from "./asked-window";
import { sliceAt } from "./timeline-layout";

/** What is read by keys: the row of a rank, and a time. */
export interface Reading {
  readonly position: number;
  readonly time: number;
}

/** The middle of what is recorded before or after a time of a rank: of a phase, or of a bin. */
function beside(answer: TimelineView, { position, time }: Reading, step: 1 | -1): number {
  const rank = answer.ranks[position];
  if (!rank) return time;
  if (answer.bins > 0) {
    const wide = (answer.stop - answer.start) / answer.bins;
    const bin = Math.floor((time - answer.start) / wide) + step;
    return answer.start + (Math.min(answer.bins - 1, Math.max(0, bin)) + 0.5) * wide;
  }
  const last = rank.ended.length - 1;
  if (last < 0) return time;
  const at = sliceAt(rank, time);
  const next = rank.ended.findIndex((ended) => ended > time);
  const near = step > 0 ? (next < 0 ? last : next) : (next < 0 ? last + 1 : next) - 1;
  const to = Math.min(last, Math.max(0, at === undefined ? near : at + step));
  return ((rank.began[to] ?? time) + (rank.ended[to] ?? time)) / 2;
}

/** Where a key leads that reads: to the phase before or after, or to the rank above or below; undefined: it reads nothing. */
export function readBy(
  key: string,
  answer: TimelineView,
  window: Window,
  now: Reading | undefined,
): Reading | undefined {
  if (![".", ",", "]", "["].includes(key) || answer.ranks.length === 0) return undefined;
  const from = now ?? { position: 0, time: (window[0] + window[1]) / 2 };
  if (now === undefined) return from; // the first key shows where one is
  if (key === "." || key === ",") return { ...from, time: beside(answer, from, key === "." ? 1 : -1) };
  const position = from.position + (key === "]" ? 1 : -1);
  return { ...from, position: Math.min(answer.ranks.length - 1, Math.max(0, position)) };
}
