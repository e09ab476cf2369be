import { beyondMarks } from "./beyond-marks";
import type { ChartCursor } from "./chart-cursor";
import { crowdLines, split } from "./crowd";
import { cursorMarks, type Dot } from "./cursor-marks";
import { evaluationTicks } from "./evaluation-ticks";
import type { Beyond } from "./most-values";
import type uPlot from "./plot-type";
import { type ChartSeries, type Crossing, type Evaluations, type TargetLine, yRange } from "./series";
import { logTicks } from "./space-scale";
import { marksInView, tickTexts } from "./tick-texts";
import { type TooltipRow, tellsCursor, tooltip } from "./tooltip";
import type { Zoom } from "./zoom";

export interface ChartLook {
  readonly dark: boolean;
  readonly ink: string;
  readonly grid: string;
  readonly page: string;
  /** Of the line at the pointer. */
  readonly pointer: string;
  /** Of the part that is marked to zoom to. */
  readonly marked: string;
}

export interface ChartAxes {
  readonly xTitle: string;
  readonly formatX: (value: number) => string;
  readonly tickX: (value: number) => string;
  readonly formatY: (value: number) => string;
  readonly tickY: (value: number) => string;
  readonly clamp?: readonly [number, number];
  readonly target?: TargetLine;
  readonly close?: "top" | "bottom";
  /** A logarithmic vertical scale. */
  readonly log?: boolean;
  /** A logarithmic horizontal scale: the curves have no point at zero or below. */
  readonly logX?: boolean;
  /** The values of x that have a number below them; otherwise round ones. */
  readonly marksX?: readonly number[];
  /** Charts of one key share their cursor. */
  readonly sync?: string;
  /** Is told where the pointer is; then no box of values stands beside it. */
  readonly cursor?: ChartCursor;
}

/** What may change while the chart stays. */
interface Current {
  readonly series: readonly ChartSeries[];
  /** Whether the chart is in view, and has a part in a cursor that is shared. */
  readonly seen: { readonly current: boolean };
  readonly zoom?: Zoom;
  readonly crossings?: readonly Crossing[];
  readonly evaluations?: readonly Evaluations[];
  readonly whole?: boolean;
  readonly beyond?: readonly Beyond[];
}

/** Width of a letter of a tick, px. */
const LETTER = 6.9;

/** `current` is asked at drawing time, so that ranges follow the data without building the chart anew. */
export function chartOptions(
  series: readonly ChartSeries[],
  axes: ChartAxes,
  look: ChartLook,
  size: { width: number; height: number },
  current: () => Current,
): uPlot.Options {
  const drawn: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  const rows: TooltipRow[] = [];
  const dots: Dot[] = [];
  for (const [at, { label, style, low, high, faint, thin }] of split(series).own.entries()) {
    const color = look.dark ? style.dark : style.light;
    const column = drawn.length;
    rows.push({ label, color, column, detail: (x) => split(current().series).own[at]?.detail?.(x) ?? "" });
    const stroke = faint ? `${color}80` : color;
    drawn.push({
      label,
      stroke,
      width: faint || thin ? 1 : 1.75,
      dash: [...style.dash],
      points: { show: false },
    });
    dots.push({ color: stroke, column });
    if (!low || !high) continue;
    const edge: uPlot.Series = { stroke: "transparent", width: 0, points: { show: false } };
    drawn.push({ ...edge }, { ...edge });
    bands.push({ series: [column + 1, column + 2], fill: `${color}${look.dark ? "30" : "22"}` });
  }
  const font = "12px system-ui, sans-serif"; // a whole number: uPlot reads no other for screens with more pixels
  const axis = { stroke: look.ink, font, labelFont: font, ticks: { show: false } };
  return {
    ...size,
    padding: [10, 14, 0, 0],
    series: drawn,
    bands,
    legend: { show: false },
    cursor: {
      x: false, // drawn by cursorMarks
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false },
      bind: { dblclick: () => null }, // all is shown by what keeps the zoom: drawn by uPlot, too, it is drawn twice
      dataIdx: nearestOwn,
      ...(axes.sync ? { sync: shared(axes.sync, current) } : {}),
    },
    scales: {
      x: axes.logX ? { time: false, distr: 3, range: wholeRange } : { time: false },
      y: {
        distr: axes.log ? 3 : 1,
        range: () => {
          const { series: drawn, zoom, whole } = current();
          const { clamp, close, log } = axes;
          return yRange(drawn, { target: axes.target?.value, clamp, close, log, zoom, whole });
        },
      },
    },
    axes: [
      {
        ...axis,
        ...(axes.logX && ROUND),
        ...(axes.marksX && { splits: marksInView(axes.marksX) }),
        label: axes.xTitle,
        labelSize: 20,
        labelGap: 0,
        size: 30,
        gap: 6,
        space: 70,
        grid: { show: false },
        border: { show: true, stroke: look.grid, width: 1 },
        values: (_, ticks: (number | null)[]) => tickTexts(ticks, axes.tickX),
      },
      {
        ...axis,
        ...(axes.log && ROUND),
        size: (_, ticks) =>
          Math.max(54, 10 + LETTER * Math.max(0, ...(ticks ?? []).map((each) => each.length))),
        gap: 8,
        space: 38,
        grid: { stroke: look.grid, width: 1 },
        // on a logarithmic scale some lines have no number
        values: (_, ticks: (number | null)[]) => tickTexts(ticks, axes.tickY),
      },
    ],
    plugins: [
      axes.cursor
        ? tellsCursor(axes.cursor)
        : tooltip(rows, (x) => `${axes.xTitle.split(" (")[0]} ${axes.formatX(x)}`, axes.formatY),
      crowdLines(look.dark, () => split(current().series).crowd),
      cursorMarks(look, dots),
      evaluationTicks(look, () => current().evaluations ?? []),
      beyondMarks(look, () => current().beyond ?? []),
      ...(axes.target ? [targetLine(axes.target, look, () => current().crossings ?? [])] : []),
    ],
  };
}

/** Round numbers on a logarithmic axis: uPlot's begin at its lower end, whatever that is. */
const ROUND: Pick<uPlot.Axis, "splits" | "filter"> = {
  splits: (_, __, low, high) => logTicks(low, high).filter((tick) => tick >= low && tick <= high),
  filter: (_, splits) => splits,
};

/** A logarithmic axis as long as its values; one of no length or of no values has a decade. */
function wholeRange(_: uPlot, least: number | null, most: number | null): [number, number] {
  const [from, to] = [least ?? 1, most ?? 10];
  return from < to ? [from, to] : [from / 3, from * 3];
}

/** Charts in view share where the pointer is, not what is dragged. */
const shared = (key: string, current: () => Current): uPlot.Cursor.Sync => ({
  key,
  filters: { pub: isMove, sub: () => current().seen.current },
});
const isMove = (type: string) => type === "mousemove" || type === "mouseleave";

/**
 * The nearest point of this curve's own: on a shared x there are holes where only another curve was evaluated. Null
 * before its first point and after its last: it has no value there.
 */
export function nearestOwn(plot: Pick<uPlot, "data">, series: number, hovered: number): number | null {
  const y = plot.data[series];
  if (!y || y[hovered] !== undefined) return hovered;
  const own = (from: number, step: 1 | -1) => {
    for (let i = from; i >= 0 && i < y.length; i += step) if (y[i] !== undefined) return i;
    return undefined;
  };
  const before = own(hovered, -1);
  const after = own(hovered, 1);
  if (before === undefined || after === undefined) return null;
  return hovered - before <= after - hovered ? before : after;
}

function targetLine(target: TargetLine, look: ChartLook, crossings: () => readonly Crossing[]): uPlot.Plugin {
  return {
    hooks: {
      draw: (plot) => {
        const { ctx, bbox } = plot;
        const y = Math.round(plot.valToPos(target.value, "y", true));
        if (y < bbox.top || y > bbox.top + bbox.height) return;
        const scale = window.devicePixelRatio;
        ctx.save();
        ctx.strokeStyle = look.ink;
        ctx.fillStyle = look.ink;
        ctx.lineWidth = scale;
        ctx.setLineDash([2 * scale, 4 * scale]);
        ctx.beginPath();
        ctx.moveTo(bbox.left, y);
        ctx.lineTo(bbox.left + bbox.width, y);
        ctx.stroke();
        ctx.font = `${11 * scale}px system-ui, sans-serif`;
        ctx.textAlign = "right";
        const below = y - bbox.top < 20 * scale;
        const at = [bbox.left + bbox.width, y + (below ? 14 : -5) * scale] as const;
        ctx.setLineDash([]);
        ctx.lineWidth = 4 * scale; // an edge in the page's colour: a curve may lie behind the words
        ctx.lineJoin = "round";
        ctx.strokeStyle = look.page;
        ctx.strokeText(target.label, ...at);
        ctx.fillText(target.label, ...at);
        ctx.lineWidth = 1.5 * scale;
        for (const { x, style } of crossings()) {
          const left = plot.valToPos(x, "x", true);
          if (left < bbox.left || left > bbox.left + bbox.width) continue;
          ctx.fillStyle = look.dark ? style.dark : style.light;
          ctx.beginPath();
          ctx.arc(left, y, 3.5 * scale, 0, 2 * Math.PI);
          ctx.fill();
          ctx.stroke();
        }
        ctx.restore();
      },
    },
  };
}
