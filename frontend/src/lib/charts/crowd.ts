import type { Table } from "@/lib/columns/join";
import { placesOn } from "./places";
import type uPlot from "./plot-type";
import type { ChartSeries } from "./series";

/** Of more thin lines nobody reads one at the pointer. */
const MANY = 40;
/** Places of the pointer along them. */
const PLACES = 500;

/**
 * A crowd are the thin lines of a chart that has very many. On an x that all series share, each of n lines would have
 * a cell for every point of every other one, n times as much as there is to draw. A crowd is drawn from its own columns.
 */
export function split(series: readonly ChartSeries[]) {
  const light = ({ thin, faint }: ChartSeries) => Boolean(thin || faint);
  if (series.filter(light).length <= MANY) return { own: series, crowd: [] };
  return { own: series.filter((one) => !light(one)), crowd: series.filter(light) };
}

/** The x of a crowd, for the axis and the pointer: evenly spaced, from its first point to its last one. */
export function placesOf(crowd: readonly ChartSeries[]): Table[] {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { x } of crowd) {
    first = Math.min(first, x[0] ?? first);
    last = Math.max(last, x[x.length - 1] ?? last);
  }
  if (first > last) return [];
  const step = (last - first) / (PLACES - 1);
  return [{ x: Array.from({ length: PLACES }, (_, i) => (step > 0 ? first + i * step : first)), ys: [] }];
}

/** Draws a crowd below the other curves; a value that is missing is a gap. */
export function crowdLines(dark: boolean, crowd: () => readonly ChartSeries[]): uPlot.Plugin {
  return {
    hooks: {
      drawAxes: (plot) => {
        const lines = crowd();
        if (lines.length === 0) return;
        const { ctx, bbox } = plot;
        const scale = window.devicePixelRatio;
        const seen = [plot.scales.x?.min ?? 0, plot.scales.x?.max ?? 0] as const;
        const places = [placesOn(plot, "x"), placesOn(plot, "y")] as const;
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        ctx.lineWidth = scale;
        for (const line of lines) {
          const color = dark ? line.style.dark : line.style.light;
          ctx.strokeStyle = line.faint ? `${color}80` : color;
          ctx.setLineDash(line.style.dash.map((length) => length * scale));
          ctx.stroke(pathOf(line, seen, places));
        }
        ctx.restore();
      },
    },
  };
}

type Place = (value: number) => number;

function pathOf(
  { x, y }: ChartSeries,
  [from, to]: readonly [number, number],
  [across, up]: readonly [Place, Place],
): Path2D {
  const path = new Path2D();
  let open = false;
  for (let i = 0; i < x.length; i += 1) {
    const [at, value] = [x[i] as number, y[i]];
    if ((x[i + 1] ?? at) < from) continue; // the line to the first point in view begins outside
    if (value === null || value === undefined || Number.isNaN(value)) {
      open = false;
      continue;
    }
    if (open) path.lineTo(across(at), up(value));
    else path.moveTo(across(at), up(value));
    open = true;
    if (at > to) break;
  }
  return path;
}
