import type { View } from "./hands";
import { bent, straight } from "./log-x";
import type uPlot from "./plot-type";
import type { Zoom } from "./zoom";

/** A part of an axis moved by a distance, as far as it stays within all that there is. */
export function moved([from, to]: Zoom, by: number, [first, last]: Zoom): Zoom {
  const shift = Math.min(Math.max(by, Math.min(0, first - from)), Math.max(0, last - to));
  return [from + shift, to + shift];
}

/**
 * Shift and a drag move what is in view. The gesture is taken before uPlot sees it, which would begin to select. The
 * function that is returned ends it.
 */
export function panBy(plot: uPlot, { log, zoom, show, keep }: View): () => void {
  let end: (() => void) | undefined;
  const begin = (event: MouseEvent) => {
    const before = zoom();
    const x = plot.data[0];
    const [first, last] = [x[0], x.at(-1)];
    if (!event.shiftKey || event.button !== 0 || !before || first === undefined || last === undefined) return;
    event.stopPropagation();
    event.preventDefault();
    end?.();
    const [bend, unbend] = [(at: number) => bent(log(), at), (at: number) => straight(log(), at)];
    const seen: Zoom = [bend(before[0]), bend(before[1])];
    const all: Zoom = [bend(first), bend(last)];
    const perPixel = (seen[1] - seen[0]) / plot.over.clientWidth;
    let now = before;
    const move = ({ clientX }: MouseEvent) => {
      const [from, to] = moved(seen, (event.clientX - clientX) * perPixel, all);
      now = [unbend(from), unbend(to)];
      show(now);
    };
    const letGo = () => {
      end?.();
      if (now !== before) keep(now);
    };
    document.addEventListener("mousemove", move);
    document.addEventListener("mouseup", letGo);
    end = () => {
      document.removeEventListener("mousemove", move);
      document.removeEventListener("mouseup", letGo);
      end = undefined;
    };
  };
  plot.root.addEventListener("mousedown", begin, true);
  return () => {
    end?.();
    plot.root.removeEventListener("mousedown", begin, true);
  };
}
