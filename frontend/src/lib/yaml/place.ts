import type { Path } from "@/lib/json/document";
import { afterQuoted, scanFlow, unquoted } from "./flow";

/** Where the caret is in a document that may be unfinished. */
export interface Place {
  /** Of a key: to the mapping that it is in. Of a value: to the value itself. */
  readonly path: Path;
  readonly at: "key" | "value";
  /** Where the word begins that is being written. */
  readonly from: number;
  /** Whether it stands in { } or [ ]. */
  readonly flow: boolean;
  /** Column of the keys around it; 0 in brackets. */
  readonly indent: number;
}

/** A mapping or a list by indentation: its column, and what of it is being read. */
interface Frame {
  readonly kind: "map" | "seq";
  readonly indent: number;
  key: string;
  index: number;
}

const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^"'#{}[\],&*!|>%@`\s][^#\n]*?)\s*:(?=\s|$)/;
const BLOCK_SCALAR = /^[|>][-+0-9]*\s*(?:#.*)?$/;

function pathOf(frames: readonly Frame[]): Path {
  return frames.map((frame) => (frame.kind === "map" ? frame.key : frame.index));
}

/** Leave what is indented more than a column. */
function leave(frames: Frame[], column: number): void {
  while ((frames.at(-1)?.indent ?? -1) > column) frames.pop();
}

/** The same for a key: a list at the column of its own key ends there, too. */
function leaveForKey(frames: Frame[], column: number): void {
  leave(frames, column);
  const top = frames.at(-1);
  if (top?.kind === "seq" && top.indent === column && frames.at(-2)?.indent === column) frames.pop();
}

/** Where a comment begins behind a value, or the end. */
function commentIn(text: string, start: number, end: number): number {
  let at = start;
  while (at < end) {
    const letter = text[at];
    if ((letter === '"' || letter === "'") && at === start) at = afterQuoted(text, at, end);
    else if (letter === "#" && (at === start || /\s/.test(text[at - 1] ?? " "))) return at;
    else at += 1;
  }
  return end;
}

class Reader {
  private readonly frames: Frame[] = [];
  /** Column of the key whose text is a block, of which this line may be a part. */
  private block: number | undefined;
  /** Where a collection in brackets begins that is still open at the caret. */
  private opened: number | undefined;

  constructor(
    private readonly text: string,
    private readonly caret: number,
  ) {}

  find(): Place | undefined {
    let at = 0;
    for (;;) {
      const newline = this.text.indexOf("\n", at);
      const end = newline < 0 ? this.text.length : newline;
      if (this.caret <= end) return this.last(at);
      at = this.line(at, end);
      if (at > this.caret) return undefined; // a collection in brackets ends on the line of the caret
    }
  }

  /** Read a line before that of the caret; return where the next one begins. */
  private line(start: number, end: number): number {
    const line = this.text.slice(start, end);
    const column = line.search(/\S/);
    if (column < 0 || line[column] === "#" || this.inBlock(column) || line.startsWith("---")) return end + 1;
    const { at, column: inner } = this.dashes(start + column, column, end);
    const value = this.key(at, inner, end) ?? at;
    const rest = this.text.slice(value, end);
    if (BLOCK_SCALAR.test(rest)) this.block = this.frames.at(-1)?.indent;
    if (/^[{[]/.test(rest)) return this.flow(value, end);
    return end + 1;
  }

  /** Skip a collection in brackets; one that is still open at the caret is read again with it. */
  private flow(start: number, end: number): number {
    const found = scanFlow(this.text, start, this.caret);
    if (found && "closed" in found) {
      const next = this.text.indexOf("\n", Math.max(end, found.closed));
      return next < 0 ? this.text.length + 1 : next + 1;
    }
    this.opened = start;
    return this.caret;
  }

  private inBlock(column: number): boolean {
    if (this.block === undefined) return false;
    if (column > this.block) return true;
    this.block = undefined;
    return false;
  }

  /** Read "- " as often as it stands there. */
  private dashes(start: number, first: number, end: number): { at: number; column: number } {
    let at = start;
    let column = first;
    while (at < end && this.text[at] === "-" && (at + 1 >= end || this.text[at + 1] === " ")) {
      leave(this.frames, column);
      const top = this.frames.at(-1);
      if (top?.kind === "seq" && top.indent === column) top.index += 1;
      else this.frames.push({ kind: "seq", indent: column, key: "", index: 0 });
      let next = at + 1;
      while (next < end && this.text[next] === " ") next += 1;
      column += next - at;
      at = next;
    }
    return { at, column };
  }

  /** Read a key; return where its value begins. */
  private key(at: number, column: number, end: number): number | undefined {
    const found = KEY.exec(this.text.slice(at, end));
    if (!found) return undefined;
    leaveForKey(this.frames, column);
    const key = unquoted(found[1] ?? "");
    const top = this.frames.at(-1);
    if (top?.kind === "map" && top.indent === column) top.key = key;
    else this.frames.push({ kind: "map", indent: column, key, index: 0 });
    let value = at + found[0].length;
    while (value < end && this.text[value] === " ") value += 1;
    return value;
  }

  /** The place on the line of the caret, read up to it. */
  private last(start: number): Place | undefined {
    const end = this.caret;
    if (this.opened !== undefined) return this.inFlow(this.opened);
    const line = this.text.slice(start, end);
    const found = line.search(/\S/);
    const first = found < 0 ? line.length : found;
    if (this.inBlock(first) || line[first] === "#") return undefined;
    const { at, column } = this.dashes(start + first, first, end);
    if (at > start + first && this.text[at - 1] === "-") return undefined; // a dash without its space
    const value = this.key(at, column, end);
    const from = value ?? at;
    if (/^[{[]/.test(this.text.slice(from, end))) return this.inFlow(from);
    if (commentIn(this.text, from, end) < end) return undefined;
    if (value === undefined) return this.atKey(at, column);
    if (this.text[value - 1] === ":") return undefined; // its space is missing
    return { path: pathOf(this.frames), at: "value", from: value, flow: false, indent: column };
  }

  private atKey(from: number, indent: number): Place {
    leaveForKey(this.frames, indent);
    const top = this.frames.at(-1);
    const among = top?.kind === "map" && top.indent === indent ? this.frames.slice(0, -1) : this.frames;
    return { path: pathOf(among), at: "key", from, flow: false, indent };
  }

  private inFlow(start: number): Place | undefined {
    const found = scanFlow(this.text, start, this.caret);
    if (!found || "closed" in found) return undefined;
    const parts = found.open.map(({ kind, key, index }) => (kind === "map" ? key : index));
    const top = found.open.at(-1);
    const at = top?.kind === "map" && top.key === undefined ? "key" : "value";
    const inner = parts.filter((part) => part !== undefined);
    return { path: [...pathOf(this.frames), ...inner], at, from: found.from, flow: true, indent: 0 };
  }
}

/** Where a caret is; undefined where nothing can be proposed: in comments, in blocks of text, behind what has ended. */
export function placeAt(text: string, caret: number): Place | undefined {
  return new Reader(text, caret).find();
}
