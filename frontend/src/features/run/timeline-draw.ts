import { linearTicks } from "@/lib/charts/space-scale";
import { tickTexts } from "@/lib/charts/tick-texts";
import type { TimelineView } from "@/lib/client/types.gen";
import { formatNumber } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { PHASES } from "@/lib/theme/palette";
import type { Window } from "./asked-window";
import { arrowsOf, boxesOf, type Frame, gatesOf, rowTop, xOf } from "./timeline-layout";
import { nameOf } from "./timeline-words";

/** Colours of the page in its scheme. */
export interface Ink {
  readonly phases: readonly string[];
  readonly text: string;
  readonly quiet: string;
  readonly line: string;
  readonly sunken: string;
  readonly accent: string;
  readonly amber: string;
  readonly font: string;
}

/** The colours that hold where an element stands. */
export function inkOf(element: Element): Ink {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(name).trim() || "#888888";
  return {
    phases: PHASES.map((phase) => color(`--phase-${phase}`)),
    text: color("--hk-ink"),
    quiet: color("--hk-ink-2"),
    line: color("--hk-line"),
    sunken: color("--hk-sunken"),
    accent: color("--hk-accent"),
    amber: color("--hk-amber"),
    font: style.fontFamily || "sans-serif",
  };
}

/** Time between two ticks at which their labels stay apart, px. */
const TICK = 110;
const EVALUATE = PHASES.indexOf("evaluate");
const IDLE = PHASES.indexOf("idle");
/** Width from which on stripes can be seen, px. */
const STRIPED = 5;

export interface Scene {
  readonly answer: TimelineView;
  readonly frame: Frame;
  readonly window: Window;
  readonly width: number;
  readonly ink: Ink;
  /** The rank that is highlighted. */
  readonly straggler: number | undefined;
}

/** Draws a timeline: axis, rows, phases, gates, arrows. */
export function draw(context: CanvasRenderingContext2D, scene: Scene): void {
  const { frame, width } = scene;
  context.clearRect(0, 0, width, frame.height);
  drawAxis(context, scene);
  for (const [position] of scene.answer.ranks.entries()) drawRow(context, scene, position);
  drawGates(context, scene);
  drawArrows(context, scene);
}

const MINUTE = 60;
/** "1 min 40 s" has no place for more digits. */
const seconds = (value: number) => (value < MINUTE ? formatSeconds(value) : `${formatNumber(value)} s`);

function drawAxis(context: CanvasRenderingContext2D, { frame, window, ink, width }: Scene): void {
  context.font = `11px ${ink.font}`;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.lineWidth = 1;
  const count = Math.max(2, Math.floor((frame.right - frame.left) / TICK));
  const ticks = linearTicks(window[0], window[1], count);
  const texts = tickTexts(ticks, window[1] - window[0] < MINUTE ? seconds : formatSeconds);
  for (const [i, tick] of ticks.entries()) {
    const x = Math.round(xOf(frame, window, tick)) + 0.5;
    context.strokeStyle = ink.line;
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(x, frame.top - 6);
    context.lineTo(x, frame.height);
    context.stroke();
    context.fillStyle = ink.quiet;
    const label = texts[i] ?? "";
    const half = context.measureText(label).width / 2;
    context.fillText(label, Math.min(Math.max(x, frame.left + half), width - half), frame.top - 11);
  }
}

function drawRow(context: CanvasRenderingContext2D, scene: Scene, position: number): void {
  const { answer, frame, window, ink } = scene;
  const rank = answer.ranks[position];
  if (!rank) return;
  const top = rowTop(frame, position);
  const slow = rank.rank === scene.straggler;
  if (frame.row >= 12 || position % Math.ceil(14 / (frame.row + frame.gap)) === 0 || slow) {
    context.font = `${slow ? "600 " : ""}12px ${ink.font}`;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillStyle = slow ? ink.amber : ink.quiet;
    context.fillText(nameOf(rank), frame.left - 12, top + frame.row / 2);
  }
  fillRect(context, ink.sunken, frame.left, top, frame.right - frame.left, frame.row);
  if (slow) fillRect(context, ink.amber, frame.left - 6, top, 3, frame.row);
  for (const box of boxesOf(rank, position, frame, window, answer)) {
    // columns side by side end at whole pixels: otherwise the row would show through between them
    const x = answer.bins > 0 ? Math.floor(box.x) : box.x;
    const width = answer.bins > 0 ? Math.max(Math.floor(box.x + box.width) - x, 1) : Math.max(box.width, 0.4);
    fillRect(context, ink.phases[box.phase] ?? ink.quiet, x, box.y, width, box.height);
    if (box.phase === EVALUATE && width >= STRIPED) stripe(context, scene, x, box.y, width, box.height);
  }
}

function fillRect(
  context: CanvasRenderingContext2D,
  color: string,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  context.fillStyle = color;
  context.fillRect(x, y, width, height);
}

/** The stripes of evaluations, as in every bar of phases. */
function stripe(
  context: CanvasRenderingContext2D,
  { ink }: Scene,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = ink.phases[IDLE] ?? ink.line;
  context.lineWidth = 2.5;
  context.setLineDash([]);
  context.beginPath();
  for (let from = Math.floor((x - height) / 8) * 8; from < x + width; from += 8) {
    context.moveTo(from, y + height);
    context.lineTo(from + height, y);
  }
  context.stroke();
  context.restore();
}

function drawGates(context: CanvasRenderingContext2D, { answer, frame, window, ink }: Scene): void {
  const bottom = rowTop(frame, answer.ranks.length - 1) + frame.row;
  context.lineWidth = 1;
  for (const { x, last } of gatesOf(answer, frame, window)) {
    context.strokeStyle = ink.text;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(x, frame.top);
    context.lineTo(x, bottom);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = ink.text;
    context.beginPath();
    context.arc(x, rowTop(frame, last) + frame.row / 2, 3, 0, 2 * Math.PI);
    context.fill();
  }
}

function drawArrows(context: CanvasRenderingContext2D, { answer, frame, window, ink }: Scene): void {
  context.save();
  context.beginPath();
  context.rect(frame.left, 0, frame.right - frame.left, frame.height);
  context.clip();
  context.setLineDash([]);
  context.lineWidth = 1.2;
  context.strokeStyle = ink.text;
  context.fillStyle = ink.text;
  for (const { from, to } of arrowsOf(answer, frame, window)) {
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
    const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
    context.beginPath();
    context.moveTo(...to);
    for (const side of [-0.45, 0.45])
      context.lineTo(to[0] - 7 * Math.cos(angle + side), to[1] - 7 * Math.sin(angle + side));
    context.closePath();
    context.fill();
  }
  context.restore();
}
