import type { RankTimeline, TimelineView } from "@/lib/client/types.gen";
import { type Phase, phasesIn } from "@/lib/theme/palette";
import type { Window } from "./asked-window";

/** Where the rows of a timeline stand, px. */
export interface Frame {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly row: number;
  readonly gap: number;
  readonly height: number;
}

const HEAD = 26;
const FOOT = 6;

/** The frame of a drawing of this width: rows are high where ranks are few. */
export function frameOf(ranks: number, width: number): Frame {
  const [row, gap] = ranks <= 12 ? [24, 8] : ranks <= 40 ? [16, 4] : ranks <= 128 ? [9, 2] : [5, 1];
  const left = width < 560 ? 62 : 96;
  return {
    left,
    right: Math.max(left + 40, width - 10),
    top: HEAD,
    row,
    gap,
    height: HEAD + ranks * (row + gap) + FOOT,
  };
}

/** The upper edge of the row at a position, px. */
export function rowTop(frame: Frame, position: number): number {
  return frame.top + position * (frame.row + frame.gap);
}

/** Where a time stands, px. */
export function xOf(frame: Frame, window: Window, time: number): number {
  return frame.left + ((time - window[0]) / (window[1] - window[0])) * (frame.right - frame.left);
}

/** The time at a place, s. */
export function timeAt(frame: Frame, window: Window, x: number): number {
  return window[0] + ((x - frame.left) / (frame.right - frame.left)) * (window[1] - window[0]);
}

/** A filled part of a row. */
export interface Box {
  readonly phase: number;
  readonly x: number;
  readonly width: number;
  readonly y: number;
  readonly height: number;
}

/** The boxes of one row: its slices, or for each bin its phases on top of one another, as high as their shares. */
export function boxesOf(
  rank: RankTimeline,
  position: number,
  frame: Frame,
  window: Window,
  answer: Pick<TimelineView, "start" | "stop" | "bins">,
): Box[] {
  const top = rowTop(frame, position);
  const within = (from: number, to: number) => {
    const x = Math.max(frame.left, xOf(frame, window, from));
    return { x, width: Math.min(frame.right, xOf(frame, window, to)) - x };
  };
  const boxes: Box[] = [];
  if (answer.bins > 0) {
    const step = (answer.stop - answer.start) / answer.bins;
    for (let bin = 0; bin < answer.bins; bin += 1) {
      const place = within(answer.start + bin * step, answer.start + (bin + 1) * step);
      if (place.width <= 0) continue;
      let y = top + frame.row;
      for (const [phase, shares] of rank.shares.entries()) {
        const height = ((shares[bin] ?? 0) / 1000) * frame.row;
        if (height <= 0) continue;
        y -= height;
        boxes.push({ phase, ...place, y, height });
      }
    }
    return boxes;
  }
  for (const [i, phase] of rank.phase.entries()) {
    const place = within(rank.began[i] ?? 0, rank.ended[i] ?? 0);
    if (place.width > 0) boxes.push({ phase, ...place, y: top, height: frame.row });
  }
  return boxes;
}

/** Least distance of marks on average, px: closer ones would hide what they cross. */
const APART = 10;

/** How many marks a drawing has room for. */
export function roomFor(frame: Frame): number {
  return Math.floor((frame.right - frame.left) / APART);
}

/** A message, from its sender's row to its receiver's. */
export interface Arrow {
  readonly from: readonly [number, number];
  readonly to: readonly [number, number];
}

/** Rank -> position of its row. */
export function rowsOf(answer: TimelineView): ReadonlyMap<number, number> {
  return new Map(answer.ranks.map((rank, position) => [rank.rank, position]));
}

/** The arrows of the messages in view; none where phases are merged, or where there are too many. */
export function arrowsOf(answer: TimelineView, frame: Frame, window: Window): Arrow[] {
  const { sender, receiver, sent, received } = answer.messages;
  if (answer.bins > 0 || sent.length > roomFor(frame)) return [];
  const rows = rowsOf(answer);
  return sent.flatMap((began, i) => {
    const from = rows.get(sender[i] ?? -1);
    const to = rows.get(receiver[i] ?? -1);
    if (from === undefined || to === undefined) return [];
    // from the edge of one row to the edge of the other, so that it covers no phase
    const down = to > from;
    const leaves = rowTop(frame, from) + (down ? frame.row : 0);
    const arrives = rowTop(frame, to) + (down ? 0 : frame.row);
    return [
      {
        from: [xOf(frame, window, began), leaves] as const,
        to: [xOf(frame, window, received[i] ?? began), arrives] as const,
      },
    ];
  });
}

/** The moment at which the last rank entered a collective operation: until then the others wait. */
export interface Gate {
  readonly x: number;
  /** Position of the row of the rank that entered last. */
  readonly last: number;
}

/** The gates in view, under the same conditions as arrows. */
export function gatesOf(answer: TimelineView, frame: Frame, window: Window): Gate[] {
  const { last, entered } = answer.meetings;
  if (answer.bins > 0 || entered.length > roomFor(frame)) return [];
  const rows = rowsOf(answer);
  return entered.flatMap((times, i) => {
    const x = xOf(frame, window, Math.max(...times));
    const row = rows.get(last[i] ?? -1);
    return row !== undefined && x >= frame.left && x <= frame.right ? [{ x, last: row }] : [];
  });
}

/** What is at a place of the drawing. */
export type Hit =
  | { readonly kind: "slice"; readonly rank: RankTimeline; readonly index: number }
  | { readonly kind: "bin"; readonly rank: RankTimeline; readonly bin: number };

/** What is under the pointer; undefined: nothing. */
export function hitAt(
  answer: TimelineView,
  frame: Frame,
  window: Window,
  x: number,
  y: number,
): Hit | undefined {
  if (x < frame.left || x > frame.right) return undefined;
  const position = Math.floor((y - frame.top) / (frame.row + frame.gap));
  const rank = answer.ranks[position];
  if (!rank || y < frame.top || y > rowTop(frame, position) + frame.row) return undefined;
  const time = timeAt(frame, window, x);
  const bins = answer.bins;
  if (bins > 0) {
    const bin = Math.floor(((time - answer.start) / (answer.stop - answer.start)) * bins);
    return bin >= 0 && bin < bins ? { kind: "bin", rank, bin } : undefined;
  }
  const index = sliceAt(rank, time);
  return index === undefined ? undefined : { kind: "slice", rank, index };
}

/** The slice of a rank at a time, by bisection; undefined where nothing is recorded. */
export function sliceAt(rank: RankTimeline, time: number): number | undefined {
  const ended = rank.ended;
  let low = 0;
  let high = ended.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ended[middle] ?? 0) > time) high = middle;
    else low = middle + 1;
  }
  return (rank.began[low] ?? Number.POSITIVE_INFINITY) <= time ? low : undefined;
}

/** The phases that are shown of the window of an answer; see `phasesIn`. */
export function phasesInView(answer: TimelineView): readonly Phase[] {
  const all = answer.ranks.map((rank) => sharesOf(rank, answer));
  return phasesIn(
    all.map((shares) => Object.fromEntries(answer.phases.map((name, at) => [name, shares[at] ?? 0]))),
  );
}

/** The share of each phase in the window of an answer, of the time that a rank has recorded there. */
export function sharesOf(rank: RankTimeline, answer: TimelineView): number[] {
  const start = answer.start;
  const stop = answer.stop;
  const seconds = answer.phases.map(() => 0);
  if (answer.bins > 0) {
    for (const [phase, shares] of rank.shares.entries())
      seconds[phase] = shares.reduce((sum, share) => sum + share, 0);
  } else {
    for (const [i, phase] of rank.phase.entries()) {
      const time = Math.min(stop, rank.ended[i] ?? 0) - Math.max(start, rank.began[i] ?? 0);
      seconds[phase] = (seconds[phase] ?? 0) + Math.max(0, time);
    }
  }
  const whole = seconds.reduce((sum, each) => sum + each, 0);
  return seconds.map((each) => (whole > 0 ? each / whole : 0));
}
