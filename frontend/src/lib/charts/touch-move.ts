import type { View } from "./hands";
import { bent, straight } from "./log-x";
import type uPlot from "./plot-type";
import type { Zoom } from "./zoom";

/** Movement from which on a touch is no tap, px. */
const DRAG = 8;
/** Between two taps that show all, ms at most. */
const TWICE = 350;
/** Part of the whole that is the least in view: of a narrower one neither address nor chart takes notice. */
const NARROWEST = 2e-6;
/** Fingers that are closer count as so far apart, px. */
const CLOSE = 24;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** One finger or two: where their middle is, px from the left, and how far they are apart. */
export interface Grip {
  readonly middle: number;
  readonly apart: number;
}

function gripOf([one, other]: readonly Point[]): Grip {
  const { x, y } = one ?? { x: 0, y: 0 };
  if (!other) return { middle: x, apart: CLOSE };
  return { middle: (x + other.x) / 2, apart: Math.max(CLOSE, Math.hypot(other.x - x, other.y - y)) };
}

/**
 * What is in view of an axis after fingers have moved: what was between them is between them, as far as there is
 * something. Fingers that move apart show less, those that come together show more.
 */
export function followed([from, to]: Zoom, before: Grip, now: Grip, width: number, all: Zoom): Zoom {
  const [least, most] = [Math.min(all[0], from), Math.max(all[1], to)];
  const narrowest = (all[1] - all[0]) * NARROWEST;
  const span = Math.max(narrowest, Math.min(most - least, ((to - from) * before.apart) / now.apart));
  const begin = from + ((to - from) * before.middle - span * now.middle) / width;
  const first = Math.max(least, Math.min(begin, most - span));
  return [first, first + span];
}

/**
 * Where a part is in view, a finger that moves sideways moves it, and two zoom it; two taps show all. Up and down
 * scrolls the page: the browser then takes the pointer away. The function that is returned ends it.
 */
export function touchMove(plot: uPlot, { log, zoom, show, keep }: View): () => void {
  const { over } = plot;
  const fingers = new Map<number, Point>();
  let held: { readonly seen: Zoom; readonly grip: Grip } | undefined;
  let now: Zoom | undefined;
  let tapped = Number.NEGATIVE_INFINITY;
  const whole = (): Zoom => {
    const x = plot.data[0];
    return [bent(log(), x[0] ?? 0), bent(log(), x.at(-1) ?? 0)];
  };
  const place = ({ pointerId, clientX, clientY }: PointerEvent) => {
    const box = over.getBoundingClientRect();
    fingers.set(pointerId, { x: clientX - box.left, y: clientY - box.top });
  };
  const hold = () => {
    const seen = now ?? zoom();
    held = seen && {
      seen: [bent(log(), seen[0]), bent(log(), seen[1])],
      grip: gripOf([...fingers.values()]),
    };
  };
  const begin = (event: PointerEvent) => {
    if (event.pointerType !== "touch" || !zoom()) return;
    if (event.isPrimary) fingers.clear();
    place(event);
    hold();
  };
  const move = (event: PointerEvent) => {
    if (!held || !fingers.has(event.pointerId)) return;
    place(event);
    const grip = gripOf([...fingers.values()]);
    if (!now && fingers.size === 1 && Math.abs(grip.middle - held.grip.middle) < DRAG) return;
    const [from, to] = followed(held.seen, held.grip, grip, over.clientWidth, whole());
    now = [straight(log(), from), straight(log(), to)];
    show(now);
  };
  const end = (event: PointerEvent) => {
    if (!fingers.delete(event.pointerId)) return;
    if (fingers.size > 0) return hold(); // the one that stays goes on
    held = undefined;
    const [seen, last] = [now, tapped];
    now = undefined;
    tapped = Number.NEGATIVE_INFINITY;
    if (seen) keep(isAll(seen) ? undefined : seen);
    else if (event.type === "pointercancel")
      return; // the page scrolls: no tap
    else if (event.timeStamp - last < TWICE) keep(undefined);
    else tapped = event.timeStamp;
  };
  const isAll = ([from, to]: Zoom) => {
    const [first, last] = whole();
    return bent(log(), to) - bent(log(), from) >= (last - first) * (1 - 1e-9);
  };
  over.addEventListener("pointerdown", begin);
  over.addEventListener("pointermove", move);
  over.addEventListener("pointerup", end);
  over.addEventListener("pointercancel", end);
  return () => {
    over.removeEventListener("pointerdown", begin);
    over.removeEventListener("pointermove", move);
    over.removeEventListener("pointerup", end);
    over.removeEventListener("pointercancel", end);
  };
}
