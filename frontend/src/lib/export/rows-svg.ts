import { escaped, px, titled } from "./chart-svg";
import type { Vector } from "./picture";

/** One line of a drawing: a name, what is drawn beside it, and the same in words. */
export interface SvgRow {
  readonly name: string;
  readonly words: string;
  /** Parts at a left edge, around a height. */
  readonly parts: (left: number, middle: number) => readonly string[];
}

const [EDGE, GAP, TOP] = [16, 18, 66];
/** Usual width of a letter of 12 px. */
const LETTER = 7.4;

/** Lines under one another, for a paper; `head` stands above what is drawn, which has the room of `of` in each line. */
export function rowsSvg(
  title: string,
  of: { width: number; height: number },
  rows: readonly SvgRow[],
  head: (left: number, bottom: number) => readonly string[],
): Vector {
  const longest = (texts: readonly string[]) => LETTER * Math.max(0, ...texts.map((text) => text.length));
  const left = Math.round(EDGE + longest(rows.map(({ name }) => name)) + GAP);
  const right = left + of.width + GAP;
  const words = right + longest(rows.map((row) => row.words));
  const width = Math.ceil(Math.max(words, longest([title]) * 1.2) + EDGE);
  const lines = rows.flatMap(({ name, words, parts }, at) => {
    const middle = TOP + (at + 0.5) * of.height;
    const text = (x: number, said: string) => `<text x="${px(x)}" y="${middle + 4}">${escaped(said)}</text>`;
    return [text(EDGE, name), ...parts(left, middle), text(right, words)];
  });
  return titled(title, EDGE, width, TOP + rows.length * of.height + 12, [...head(left, TOP - 6), ...lines]);
}
