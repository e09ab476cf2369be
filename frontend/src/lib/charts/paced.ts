import { isTaken } from "./in-turn";
import type { Framed } from "./once-per-frame";

/** Between two frames in which values at the pointer are written, ms at least: nobody reads numbers that change faster. */
export const PACE = 100;
/** So long at most they wait for charts that are drawn in turn, ms. */
export const PATIENCE = 300;

/** What is to be written, in the order in which it was asked for. */
const waiting = new Set<() => void>();
let handle: number | undefined;
let last = Number.NEGATIVE_INFINITY;
/** The first frame that was left to a chart. */
let since: number | undefined;

function ask(): void {
  if (handle === undefined && waiting.size > 0) handle = requestAnimationFrame(frame);
}

function frame(now: number): void {
  handle = undefined;
  try {
    if (Math.abs(now - last) < PACE) return; // a clock that begins anew counts as late
    since ??= now;
    if (isTaken(now) && Math.abs(now - since) < PATIENCE) return;
    since = undefined;
    last = now;
    for (const write of [...waiting]) {
      waiting.delete(write);
      write();
    }
  } finally {
    ask();
  }
}

/**
 * A function that writes values into the page some times a second at most, the newest ones last: in the next frame if nothing was written
 * for a while. Whatever waits is written in one frame. A text that changes has the browser lay out and paint, and look for
 * what is under the pointer, whether one changes or many. That takes as long as a chart, so that frames in which one is drawn are left out.
 */
export function paced(write: () => void): Framed {
  const request = () => {
    waiting.add(write);
    ask();
  };
  const cancel = () => {
    waiting.delete(write);
    if (waiting.size > 0) return;
    since = undefined;
    if (handle === undefined) return;
    cancelAnimationFrame(handle);
    handle = undefined;
  };
  return Object.assign(request, { cancel });
}
