import { panBy } from "./pan";
import type uPlot from "./plot-type";
import { touchMove } from "./touch-move";
import { touchZoom } from "./touch-zoom";
import type { Zoom } from "./zoom";

/** What is in view of a chart, and how gestures change it. */
export interface View {
  /** Whether the axis is logarithmic. */
  readonly log: () => boolean | undefined;
  /** What is in view now; undefined: all of it, and there is nothing to move. */
  readonly zoom: () => Zoom | undefined;
  /** While a gesture goes on; drawn with the next frame. */
  readonly show: (zoom: Zoom) => void;
  /** When it ends; undefined: all of it. */
  readonly keep: (zoom: Zoom | undefined) => void;
}

/** The gestures of mouse and fingers, beside those of uPlot. The function that is returned ends them. */
export function gestures(plot: uPlot, view: View): () => void {
  plot.over.addEventListener("dblclick", () => view.keep(undefined));
  const ends = [panBy(plot, view), touchZoom(plot, view), touchMove(plot, view)];
  return () => {
    for (const end of ends) end();
  };
}
