import type { Framed } from "./once-per-frame";

/** What waits, in the order in which it was asked for. */
const waiting = new Set<() => void>();
let handle: number | undefined;
/** The frame of the last turn, as it is told to what runs in it. */
let last: number | undefined;
let turning = false;

function next(frame: number): void {
  handle = undefined;
  const [first] = waiting;
  if (!first) return;
  last = frame;
  waiting.delete(first);
  if (waiting.size > 0) ask();
  turning = true;
  try {
    first();
  } finally {
    turning = false;
  }
}

function ask(): void {
  if (handle === undefined) handle = requestAnimationFrame(next);
}

/** Whether a turn goes on: what belongs to it is done now, and not in a turn of its own. */
export const isTurn = (): boolean => turning;

/** Whether a frame is that of a turn, or something waits for one. */
export const isTaken = (frame: number): boolean => waiting.size > 0 || last === frame;

/**
 * A function that runs in a frame of its own, with the newest state at that moment: of several charts that are to be drawn
 * at once, each frame draws one. Drawn together, six of them would hold up the page for longer than a frame lasts.
 */
export function inTurn(draw: () => void): Framed {
  const request = () => {
    waiting.add(draw);
    ask();
  };
  const cancel = () => {
    waiting.delete(draw);
    if (waiting.size > 0 || handle === undefined) return;
    cancelAnimationFrame(handle);
    handle = undefined;
  };
  return Object.assign(request, { cancel });
}
