import type { Window } from "./asked-window";

/** Shortest window, s: no phase is told more finely than nanoseconds. */
export const SHORTEST = 1e-6;

/** The nearest window inside [0, span] with at least the shortest width. */
export function inside([start, stop]: Window, span: number): Window {
  const width = Math.min(Math.max(stop - start, SHORTEST), Math.max(span, SHORTEST));
  const first = Math.min(Math.max(0, start), Math.max(0, span - width));
  return [first, first + width];
}

/** The window after zooming by a factor (below 1: closer) around a time, which keeps its place. */
export function zoomed([start, stop]: Window, factor: number, at: number, span: number): Window {
  const width = Math.min(Math.max((stop - start) * factor, SHORTEST), Math.max(span, SHORTEST));
  const share = stop > start ? (at - start) / (stop - start) : 0.5;
  return inside([at - share * width, at + (1 - share) * width], span);
}

/** The window moved by a share of its width. */
export function moved([start, stop]: Window, share: number, span: number): Window {
  const by = share * (stop - start);
  return inside([start + by, stop + by], span);
}

/** A window as the URL holds it, "12.5_12.625": with the digits that its width needs, and no more. */
export function windowText([start, stop]: Window): string {
  const digits = Math.min(12, Math.max(0, 4 - Math.floor(Math.log10(Math.max(stop - start, SHORTEST)))));
  return `${Number(start.toFixed(digits))}_${Number(stop.toFixed(digits))}`;
}

/** What a key does with the window; undefined: nothing. */
export function byKey(key: string, window: Window, span: number): Window | undefined {
  const middle = (window[0] + window[1]) / 2;
  switch (key) {
    case "+":
    case "=":
    case "ArrowUp":
      return zoomed(window, 0.5, middle, span);
    case "-":
    case "ArrowDown":
      return zoomed(window, 2, middle, span);
    case "ArrowLeft":
      return moved(window, -0.25, span);
    case "ArrowRight":
      return moved(window, 0.25, span);
    case "PageUp":
      return moved(window, -1, span);
    case "PageDown":
      return moved(window, 1, span);
    case "Home":
      return [0, span];
    default:
      return undefined;
  }
}
