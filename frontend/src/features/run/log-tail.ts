import type { LogLineView } from "@/lib/client/types.gen";

/** More lines than this are cut from the front unless older ones are asked for: a browser is no log archive. */
export const KEPT = 5000;
/** Lines of a request, and of a block that can be read again. */
export const PAGE = 1000;

/** The newest lines of a log, and where the blocks begin that were cut. */
export interface Tail {
  readonly lines: readonly LogLineView[];
  /** Position of the last line. */
  readonly after: number;
  /** Number of lines that were cut. */
  readonly cut: number;
  /** Positions behind which each block of PAGE lines begins, from the first line to the first one that is here. */
  readonly starts: readonly number[];
  /** More lines than this are cut. */
  readonly most: number;
}

export const EMPTY: Tail = { lines: [], after: 0, cut: 0, starts: [0], most: KEPT };

/** A tail with newer lines; its oldest are cut. */
export function appended(tail: Tail, newer: readonly LogLineView[], after: number): Tail {
  const lines = [...tail.lines, ...newer];
  const over = Math.max(0, lines.length - tail.most);
  const starts = [...tail.starts];
  for (let count = PAGE - (tail.cut % PAGE); count <= over; count += PAGE) {
    const last = lines[count - 1];
    if (last) starts.push(last.position);
  }
  return { ...tail, lines: lines.slice(over), after, cut: tail.cut + over, starts };
}

export interface Block {
  readonly number: number;
  /** Position behind which it begins. */
  readonly after: number;
}

/** The block before the lines of a tail; undefined: they are the first ones. */
export function older({ cut, starts }: Tail): Block | undefined {
  const number = Math.ceil(cut / PAGE) - 1;
  const after = starts[number];
  return after === undefined ? undefined : { number, after };
}

/** A tail with the lines of the block before it; as it was, if it no longer follows that block. */
export function withOlder(tail: Tail, block: Block, found: readonly LogLineView[]): Tail {
  if (older(tail)?.number !== block.number) return tail;
  const lines = [...found, ...tail.lines];
  const starts = tail.starts.slice(0, block.number + 1);
  return { ...tail, lines, cut: block.number * PAGE, starts, most: Math.max(tail.most, lines.length) };
}
