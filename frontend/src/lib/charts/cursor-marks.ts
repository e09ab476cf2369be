import styles from "./line-chart.module.css";
import type { ChartLook } from "./options";
import type uPlot from "./plot-type";

/** Diameter of a dot, px. */
const DOT = 7;
/** What of a dot, or of the line, may stand beyond the plot, px; as in the style sheet. */
const RIM = 4;
/** Opacity of the part that is marked. */
const MARKED = 0.14;

/** A curve that has a dot at the pointer. */
export interface Dot {
  readonly color: string;
  /** Index of the series in uPlot's data. */
  readonly column: number;
}

/** Where a curve is read at the pointer, px; undefined: it has no value there, or that is out of view. */
function placeOf(
  plot: uPlot,
  column: number,
  wide: number,
  high: number,
): readonly [number, number] | undefined {
  const index = plot.cursor.idxs?.[column];
  if (index === null || index === undefined) return undefined;
  const [x, value] = [plot.data[0][index], plot.data[column]?.[index]];
  if (x === undefined || value === null || value === undefined) return undefined;
  const [left, top] = [Math.ceil(plot.valToPos(x, "x")), Math.ceil(plot.valToPos(value, "y"))];
  return left >= 0 && left <= wide && top >= 0 && top <= high ? [left, top] : undefined;
}

/**
 * A line at the pointer, a dot on each curve, and the part that is marked to zoom to, on a canvas above the curves that is there as long
 * as one of them is. uPlot's own ones are elements of the page: to move them, in every chart that shares the pointer, the browser
 * computes styles and layers of the page in each frame.
 */
export function cursorMarks(look: Pick<ChartLook, "pointer" | "marked">, dots: readonly Dot[]): uPlot.Plugin {
  const canvas = document.createElement("canvas");
  canvas.className = styles.cursor ?? "";

  function draw(plot: uPlot): void {
    const { left = -1 } = plot.cursor;
    const { left: from, width: marked } = plot.select;
    const scale = window.devicePixelRatio;
    const [wide, high] = [plot.bbox.width / scale, plot.bbox.height / scale];
    const ctx = canvas.getContext("2d");
    if (!ctx || (left < 0 && marked <= 0)) {
      canvas.remove();
      return;
    }
    if (!canvas.parentElement) plot.over.prepend(canvas);
    size(Math.round((wide + 2 * RIM) * scale), Math.round((high + 2 * RIM) * scale));
    ctx.clearRect(0, 0, canvas.width, canvas.height);
    if (marked > 0) {
      ctx.globalAlpha = MARKED;
      ctx.fillStyle = look.marked;
      ctx.fillRect((RIM + from) * scale, RIM * scale, marked * scale, high * scale);
      ctx.globalAlpha = 1;
    }
    if (left < 0) return; // a mouse that has left the plot with its button down
    ctx.fillStyle = look.pointer;
    const at = Math.round(left);
    if (at <= wide) ctx.fillRect((RIM + at) * scale, RIM * scale, scale, high * scale);
    for (const { color, column } of dots) {
      const place = placeOf(plot, column, wide, high);
      if (!place) continue;
      ctx.fillStyle = color;
      ctx.beginPath();
      ctx.arc((RIM + place[0]) * scale, (RIM + place[1]) * scale, (DOT / 2) * scale, 0, 2 * Math.PI);
      ctx.fill();
    }
  }

  /** A canvas that is given its size is emptied, and gets other memory. */
  function size(width: number, height: number): void {
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
  }

  return { hooks: { setCursor: draw, setSelect: draw, setSize: draw } };
}
