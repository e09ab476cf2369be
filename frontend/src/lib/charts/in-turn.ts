import type { Framed } from "./once-per-frame";

/** What waits, in the order in which it was asked for. */
const waiting = new Set<() => void>();
let handle: number | undefined;

function next(): void {
  handle = undefined;
  const [first] = waiting;
  if (!first) return;
  waiting.delete(first);
  if (waiting.size > 0) ask();
  first();
}

function ask(): void {
  if (handle === undefined) handle = requestAnimationFrame(next);
}

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
