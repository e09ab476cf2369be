import { bent } from "@/lib/charts/log-x";
import { beyondOf } from "@/lib/charts/most-values";
import {
  type ChartSeries,
  type Crossing,
  type Evaluations,
  type TargetLine,
  yRange,
} from "@/lib/charts/series";
import { linearTicks, logTicks } from "@/lib/charts/space-scale";
import { marksInView, tickTexts } from "@/lib/charts/tick-texts";
import type { Zoom } from "@/lib/charts/zoom";
import type { Vector } from "./picture";

/** What a chart shows, as it is drawn for a paper: on white, in the colours of the light scheme. */
export interface Drawing {
  readonly title: string;
  readonly series: readonly ChartSeries[];
  readonly xTitle: string;
  readonly tickX: (value: number) => string;
  readonly tickY: (value: number) => string;
  readonly clamp?: readonly [number, number];
  readonly close?: "top" | "bottom";
  readonly log?: boolean;
  readonly logX?: boolean;
  /** The values that have numbers below, as far as there is room; otherwise round ones. */
  readonly marksX?: readonly number[];
  readonly zoom?: Zoom;
  readonly whole?: boolean;
  readonly target?: TargetLine;
  readonly crossings?: readonly Crossing[];
  readonly evaluations?: readonly Evaluations[];
}

export const WIDTH = 640;
const PLOT = { left: 62, right: 16, top: 34, height: 280 };
const INK = "#3a4149";
const GRID = "#dfe3e7";
const LEGEND_LINE = 18;
/** Usual width of a letter of 12 px. */
const LETTER = 7.4;

export const escaped = (text: string) =>
  text.replace(
    /[&<>"]/g,
    (found) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[found] ?? found,
  );
export const px = (value: number) => String(Math.round(value * 100) / 100);

interface Frame {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
  readonly xs: readonly [number, number];
  readonly ys: readonly [number, number];
  readonly right: number;
  readonly bottom: number;
}

function frameOf({ series, zoom, target, clamp, close, log, logX, whole }: Drawing): Frame {
  const all = series.flatMap(({ x, y }) => Array.from(x).filter((_, i) => typeof y[i] === "number"));
  const least = all.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY);
  const most = all.reduce((high, value) => Math.max(high, value), Number.NEGATIVE_INFINITY);
  const xs: readonly [number, number] = zoom ?? (least < most ? [least, most] : [0, 1]);
  const ys = yRange(series, { target: target?.value, clamp, close, log, zoom, whole });
  const level = (value: number) => (log ? Math.log10(Math.max(value, ys[0] / 10)) : value);
  const right = WIDTH - PLOT.right;
  const bottom = PLOT.top + PLOT.height;
  const place = (value: number) => bent(logX, Math.max(value, logX ? xs[0] / 10 : value));
  const wide = place(xs[1]) - place(xs[0]);
  return {
    x: (value) => PLOT.left + ((place(value) - place(xs[0])) / wide) * (right - PLOT.left),
    y: (value) => bottom - ((level(value) - level(ys[0])) / (level(ys[1]) - level(ys[0]))) * PLOT.height,
    xs,
    ys,
    right,
    bottom,
  };
}

/** Runs of points without a gap; what was not evaluated at an x is no gap, a null is one. */
function pieces(x: ArrayLike<number>, y: ArrayLike<number | null>): [number, number][][] {
  const found: [number, number][][] = [[]];
  for (let i = 0; i < y.length; i += 1) {
    const [at, value] = [x[i], y[i]];
    if (value === undefined || at === undefined) continue;
    if (value === null || Number.isNaN(value)) found.push([]);
    else found.at(-1)?.push([at, value]);
  }
  return found.filter((piece) => piece.length > 0);
}

function axes(
  { xTitle, tickX, tickY, log, logX, marksX }: Drawing,
  { x, y, xs, ys, right, bottom }: Frame,
): string[] {
  const levels = log
    ? logTicks(...ys).filter((tick) => tick >= ys[0] && tick <= ys[1])
    : linearTicks(ys[0], ys[1], 6);
  const texts = tickTexts(levels, tickY);
  const rows = levels.flatMap((tick, i) => [
    `<line x1="${PLOT.left}" x2="${right}" y1="${px(y(tick))}" y2="${px(y(tick))}" stroke="${GRID}"/>`,
    `<text x="${PLOT.left - 8}" y="${px(y(tick) + 4)}" text-anchor="end">${escaped(texts[i] ?? "")}</text>`,
  ]);
  const inside = (tick: number) => tick >= xs[0] && tick <= xs[1];
  const round = () => (logX ? logTicks(...xs).filter(inside) : linearTicks(xs[0], xs[1], 7));
  const places = marksX ? marksInView(marksX)({ valToPos: x }, 0, ...xs) : round();
  const below = tickTexts(places, tickX);
  const columns = places.map(
    (tick, i) =>
      `<text x="${px(x(tick))}" y="${bottom + 18}" text-anchor="middle">${escaped(below[i] ?? "")}</text>`,
  );
  const middle = (PLOT.left + right) / 2;
  return [
    ...rows,
    `<line x1="${PLOT.left}" x2="${right}" y1="${bottom}" y2="${bottom}" stroke="${INK}"/>`,
    ...columns,
    `<text x="${px(middle)}" y="${bottom + 36}" text-anchor="middle">${escaped(xTitle)}</text>`,
  ];
}

function curve({ x, y, low, high, style, faint, thin }: ChartSeries, frame: Frame): string[] {
  const path = (points: readonly [number, number][]) =>
    points.map(([at, value], i) => `${i === 0 ? "M" : "L"}${px(frame.x(at))} ${px(frame.y(value))}`).join("");
  const lower = low && pieces(x, low);
  const upper = high && pieces(x, high);
  const bands = (upper ?? []).map((top, i) => {
    const below = [...(lower?.[i] ?? [])].reverse();
    return `<path d="${path([...top, ...below])}Z" fill="${style.light}" fill-opacity="0.13"/>`;
  });
  const dash = style.dash.length > 0 ? ` stroke-dasharray="${style.dash.join(" ")}"` : "";
  const look = `fill="none" stroke="${style.light}" stroke-width="${faint || thin ? 1 : 2}"${dash}`;
  const pale = faint ? ' stroke-opacity="0.5"' : "";
  return [...bands, ...pieces(x, y).map((piece) => `<path d="${path(piece)}" ${look}${pale}/>`)];
}

/** Ticks, target and dots: they lie at the edges of the plot, and are not cut there. */
function marks({ target, crossings = [], evaluations = [] }: Drawing, frame: Frame): string[] {
  const { x, y, xs, ys, right, bottom } = frame;
  const seen = (at: number) => at >= xs[0] && at <= xs[1];
  const tick = (at: number, { light }: Evaluations["style"]) => {
    const left = px(Math.round(2 * x(at)) / 2); // of many runs, one of a colour at a place
    return `<line x1="${left}" x2="${left}" y1="${bottom - 5}" y2="${bottom}" stroke="${light}" stroke-opacity="0.6"/>`;
  };
  const all = evaluations.flatMap((one) =>
    Array.from(one.x)
      .filter(seen)
      .map((at) => tick(at, one.style)),
  );
  const ticks = [...new Set(all)];
  if (!target || target.value < ys[0] || target.value > ys[1]) return ticks;
  const level = y(target.value);
  const label = px(level - PLOT.top < 20 ? level + 15 : level - 5);
  const dots = crossings
    .filter(({ x: at }) => seen(at))
    .map(
      ({ x: at, style }) =>
        `<circle cx="${px(x(at))}" cy="${px(level)}" r="3.5" fill="${style.light}" stroke="#fff"/>`,
    );
  return [
    ...ticks,
    `<line x1="${PLOT.left}" x2="${right}" y1="${px(level)}" y2="${px(level)}" stroke="${INK}" stroke-dasharray="2 4"/>`,
    `<text x="${right}" y="${label}" text-anchor="end" paint-order="stroke" stroke="#fff" stroke-width="4">${escaped(target.label)}</text>`,
    ...dots,
  ];
}

/** Triangles at the edge where values lie that the axis leaves out, and how many these are. */
function beyondEdge(drawing: Drawing, { x, right, bottom }: Frame): string[] {
  const beyond = beyondOf(drawing);
  if (beyond.length === 0) return [];
  const tips = beyond.map(({ x: at, above, style }) => {
    const [tip, foot] = above ? [PLOT.top, PLOT.top + 6] : [bottom, bottom - 6];
    const left = x(at);
    return `<path d="M${px(left)} ${tip}L${px(left + 4)} ${foot}L${px(left - 4)} ${foot}Z" fill="${style.light}"/>`;
  });
  const words = `${beyond.length} ${beyond.length === 1 ? "value" : "values"} beyond the axis`;
  return [...tips, `<text x="${right}" y="20" text-anchor="end">${words}</text>`];
}

/** One entry for each curve that is not pale, in lines as wide as the chart. */
function legend(series: readonly ChartSeries[], top: number): { parts: string[]; bottom: number } {
  const parts: string[] = [];
  let [left, row] = [PLOT.left, 0];
  for (const { label, style } of series.filter(({ faint }) => !faint)) {
    const width = 34 + label.length * LETTER;
    if (left > PLOT.left && left + width > WIDTH) [left, row] = [PLOT.left, row + 1];
    const y = top + row * LEGEND_LINE;
    const dash = style.dash.length > 0 ? ` stroke-dasharray="${style.dash.join(" ")}"` : "";
    parts.push(
      `<line x1="${px(left)}" x2="${px(left + 18)}" y1="${y - 4}" y2="${y - 4}" stroke="${style.light}" stroke-width="3"${dash}/>`,
      `<text x="${px(left + 24)}" y="${y}">${escaped(label)}</text>`,
    );
    left += width;
  }
  return { parts, bottom: top + row * LEGEND_LINE };
}

/** A drawing for a paper under its title. */
export function titled(
  title: string,
  left: number,
  width: number,
  height: number,
  parts: readonly string[],
): Vector {
  const svg = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12" fill="${INK}">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${left}" y="20" font-size="14" font-weight="600">${escaped(title)}</text>`,
    ...parts,
    "</svg>",
  ].join("\n");
  return { svg, width, height };
}

/** The chart as a vector drawing with its title and a legend. */
export function chartSvg(drawing: Drawing): Vector {
  const frame = frameOf(drawing);
  const names = legend(drawing.series, frame.bottom + 62);
  const clip = `<clipPath id="plot"><rect x="${PLOT.left}" y="${PLOT.top}" width="${frame.right - PLOT.left}" height="${PLOT.height}"/></clipPath>`;
  return titled(drawing.title, PLOT.left, WIDTH, names.bottom + 14, [
    `<defs>${clip}</defs>`,
    ...axes(drawing, frame),
    `<g clip-path="url(#plot)">`,
    ...drawing.series.flatMap((one) => curve(one, frame)),
    "</g>",
    ...marks(drawing, frame),
    ...beyondEdge(drawing, frame),
    ...names.parts,
  ]);
}
