import { type Item, parse } from "./equation-parse";

/** Mathematics, or the words between it. */
export type Piece =
  | { readonly kind: "math"; readonly items: readonly Item[] }
  | { readonly kind: "text"; readonly text: string };

/** A part of a line that wide space parts from the others; `comment`: it states no equation. */
export interface Segment {
  readonly pieces: readonly Piece[];
  readonly comment: boolean;
}

export interface Line {
  /** What stands before the equations: "(1) worker", "if tau divides t_i:". Empty: nothing. */
  readonly label: readonly Piece[];
  readonly segments: readonly Segment[];
}

const LABEL = 30;
/** "=", not a part of ">=" or "<=". */
const EQUATES = /(?<![<>])=/;

/** The lines of a paragraph of equations. */
export function linesOf(text: string): Line[] {
  return text.split("\n").filter(Boolean).map(lineOf);
}

function lineOf(text: string): Line {
  const even = text.trim().replace(/ +([<>]?=|[<>])(?= ) */g, " $1 ");
  const parts = even.split(/ {2,}/);
  const [first = ""] = parts;
  const labelled = parts.length > 1 && first.length <= LABEL && !EQUATES.test(first) && !/[;,]$/.test(first);
  return {
    label: labelled ? piecesOf(first) : [],
    segments: parts.slice(labelled ? 1 : 0).map((part, i) => ({
      pieces: piecesOf(part),
      comment: (labelled || i > 0) && !EQUATES.test(part),
    })),
  };
}

/** Words and mathematics by turns; an equation of several steps may break before each of its relations. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let items: Item[] = [];
  const close = () => {
    if (items.length > 0) pieces.push({ kind: "math", items });
    items = [];
  };
  for (const item of parse(text)) {
    const last = pieces.at(-1);
    if (isText(item)) {
      close();
      const before = pieces.at(-1);
      if (before?.kind === "text") pieces[pieces.length - 1] = joined(before.text, item);
      else pieces.push(joined("", item));
    } else if (item.kind === "stop" && items.length === 0 && last?.kind === "text") {
      pieces[pieces.length - 1] = joined(last.text, item);
    } else {
      const again = item.kind === "relation" && items.some(({ kind }) => kind === "relation");
      if (again) close();
      items.push(item);
      if (item.kind === "stop" && item.text !== "...") close();
    }
  }
  close();
  return pieces;
}

function joined(before: string, item: Item): Piece {
  return { kind: "text", text: before + (item.spaced && before ? " " : "") + textOf(item) };
}

/** Whether an item is prose: a word, or words in parentheses. */
function isText(item: Item): boolean {
  if (item.kind !== "fence") return item.kind === "word";
  return item.open === "(" && item.inside.length > 0 && item.inside.every(isInProse);
}

function isInProse(item: Item): boolean {
  return item.kind === "word" || item.kind === "stop" || (item.kind === "name" && item.text.length > 2);
}

function textOf(item: Item): string {
  if ("text" in item) return item.text;
  if (item.kind !== "fence") return "";
  const inside = item.inside.map((each, i) => (each.spaced && i > 0 ? " " : "") + textOf(each));
  return item.open + inside.join("") + item.close;
}
