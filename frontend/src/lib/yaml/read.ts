import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  YAMLError,
} from "yaml";

/** A part of the text. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface ReadYaml {
  /** What it says; undefined if it cannot be read. */
  readonly value: unknown;
  /** What is wrong with it as YAML, with its place. */
  readonly errors: readonly { readonly message: string; readonly span: Span; readonly where: string }[];
  /** Where the value at a JSON Pointer is written, or what is nearest around it. */
  readonly spanOf: (pointer: string) => Span;
  /** Number of the line of a place, from 1. */
  readonly lineOf: (offset: number) => number;
}

/** Read one YAML document, with the places of all values. */
export function readYaml(text: string): ReadYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineOf = (offset: number) => lines.linePos(Math.min(offset, text.length)).line || 1;
  const where = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `line ${line || 1}, column ${col || 1}`;
  };
  const errors = document.errors.map(({ message, pos: [start, end] }) => ({
    message,
    span: clipped(text, start, Math.max(end, start + 1)),
    where: where(start),
  }));
  const spanOf = (pointer: string) => {
    const [from, to] = rangeOf(document, pointer);
    return clipped(text, from, to);
  };
  if (errors.length > 0) return { value: undefined, errors, spanOf, lineOf };
  try {
    return { value: document.toJS({ maxAliasCount: 100 }), errors, spanOf, lineOf };
  } catch (error) {
    const message = error instanceof YAMLError || error instanceof Error ? error.message : String(error);
    return {
      value: undefined,
      errors: [{ message, span: clipped(text, 0, 1), where: where(0) }],
      spanOf,
      lineOf,
    };
  }
}

/** What an unfinished document says, as far as it can be read. */
export function readLoosely(text: string): unknown {
  try {
    return parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: "silent" }).toJS({
      maxAliasCount: 100,
    });
  } catch {
    return undefined;
  }
}

/** At least one character, on one line. */
function clipped(text: string, from: number, to: number): Span {
  const start = Math.max(0, Math.min(from, text.length));
  const newline = text.indexOf("\n", start);
  const end = Math.min(to, newline < 0 ? text.length : newline, text.length);
  return { from: start, to: Math.max(end, start) };
}

function partsOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function rangeOf(document: Document, pointer: string): [number, number] {
  let node: unknown = document.contents;
  let found = own(node) ?? [0, 0];
  for (const part of partsOf(pointer)) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === part);
      if (!pair) break;
      found = own(pair.key) ?? found;
      node = pair.value;
    } else if (isSeq(node)) {
      const item: unknown = node.items[Number(part)];
      if (item === undefined) break;
      found = own(item) ?? found;
      node = item;
    } else break;
    // a scalar is marked itself; of a collection, its key
    if (isNode(node) && !isCollection(node)) found = own(node) ?? found;
  }
  return found;
}

/** The range of what is written there; nothing of what is empty. */
function own(node: unknown): [number, number] | undefined {
  const range = isNode(node) ? node.range : undefined;
  return range && range[1] > range[0] ? [range[0], range[1]] : undefined;
}
