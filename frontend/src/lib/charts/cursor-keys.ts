import { bent, straight } from "./log-x";
import type uPlot from "./plot-type";
import type { Zoom } from "./zoom";

interface Plot extends Pick<uPlot, "data" | "series" | "cursor" | "valToPos"> {
  /** Its types leave the last parameter out. */
  setCursor: (to: { left: number; top: number }, hooks: boolean, synced: boolean) => void;
}

/** Moves the cursor of a chart by a key: arrows from point to point of those in view, Home and End to their ends. Whether it did. */
export function moveCursor(plot: Plot, key: string): boolean {
  const x = plot.data[0];
  const [first, last] = plot.series[0]?.idxs ?? [0, x.length - 1];
  const { idx, left } = plot.cursor;
  const at = left === undefined || left < 0 ? undefined : (idx ?? undefined);
  const to = {
    ArrowRight: at === undefined ? first : at + 1,
    ArrowLeft: at === undefined ? last : at - 1,
    Home: first,
    End: last,
  }[key];
  const value = to === undefined ? undefined : x[Math.min(last, Math.max(first, to))];
  if (value === undefined) return false;
  plot.setCursor({ left: Math.max(0, plot.valToPos(value, "x")), top: 0 }, true, true);
  return true;
}

/**
 * What is in view after a key: + halves it about the cursor, or its middle, and - doubles it. Undefined: all of the axis;
 * null: the key says nothing of it.
 */
export function keyZoom(
  plot: Pick<uPlot, "data" | "cursor" | "scales">,
  key: string,
  log?: boolean,
): Zoom | undefined | null {
  const factor = { "+": 0.5, "=": 0.5, "-": 2 }[key];
  const x = plot.data[0];
  const { min, max } = plot.scales.x ?? {};
  const [first, last] = [x[0], x[x.length - 1]];
  if (factor === undefined || first === undefined || last === undefined) return null;
  if (typeof min !== "number" || typeof max !== "number") return null;
  const { idx, left } = plot.cursor;
  const pointed = left === undefined || left < 0 ? undefined : x[idx ?? -1];
  const [low, high] = [bent(log, min), bent(log, max)];
  const at = pointed === undefined ? (low + high) / 2 : bent(log, pointed);
  const [from, to] = [straight(log, at - (at - low) * factor), straight(log, at + (high - at) * factor)];
  const next: Zoom = [Math.max(first, from), Math.min(last, to)];
  return next[0] <= first && next[1] >= last ? undefined : next;
}

/** Takes the cursor off a chart, and off those that share it. */
export function leaveCursor(plot: Plot): void {
  plot.setCursor({ left: -10, top: -10 }, true, true);
}

/** Takes the cursor off this chart alone. */
export function takeOffCursor(plot: Plot): void {
  plot.setCursor({ left: -10, top: -10 }, true, false);
}
