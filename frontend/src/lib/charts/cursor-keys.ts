import type uPlot from "uplot";

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

/** Takes the cursor off a chart, and off those that share it. */
export function leaveCursor(plot: Plot): void {
  plot.setCursor({ left: -10, top: -10 }, true, true);
}

/** Takes the cursor off this chart alone. */
export function takeOffCursor(plot: Plot): void {
  plot.setCursor({ left: -10, top: -10 }, true, false);
}
