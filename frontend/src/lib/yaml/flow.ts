/** A collection in brackets that is open: { key: or [ , */
export interface OpenBracket {
  readonly kind: "map" | "seq";
  key: string | undefined;
  index: number;
}

export type FlowScan =
  /** It ends before this place. */
  | { readonly closed: number }
  /** It goes on: what is open, and where the word begins that is being written. */
  | { readonly open: readonly OpenBracket[]; readonly from: number }
  /** In a comment. */
  | undefined;

/** The place behind a text in quotes that begins at `start`; `end` if it is not closed before. */
export function afterQuoted(text: string, start: number, end: number): number {
  const quote = text[start];
  for (let at = start + 1; at < end; at += 1) {
    if (quote === '"' && text[at] === "\\") at += 1;
    else if (text[at] === quote) {
      if (quote === "'" && text[at + 1] === "'") at += 1;
      else return at + 1;
    }
  }
  return end;
}

/** A key as it is meant: without quotes. */
export function unquoted(word: string): string {
  const trimmed = word.trim();
  if (trimmed.startsWith("'")) return trimmed.slice(1, -1).replaceAll("''", "'");
  if (!trimmed.startsWith('"')) return trimmed;
  try {
    return String(JSON.parse(trimmed));
  } catch {
    return trimmed.slice(1, -1);
  }
}

const isSpace = (letter: string | undefined) => letter === undefined || /\s/.test(letter);

/** Reads a collection in brackets from `start`, where its first one stands, until it ends, at most to `end`. */
export function scanFlow(text: string, start: number, end: number): FlowScan {
  const open: OpenBracket[] = [];
  let word = -1;
  let at = start;
  while (at < end) {
    const letter = text[at] as string;
    const top = open.at(-1);
    if (letter === '"' || letter === "'") {
      if (word < 0) word = at;
      at = afterQuoted(text, at, end);
      continue;
    }
    if (letter === "#" && isSpace(text[at - 1])) {
      const line = text.indexOf("\n", at);
      if (line < 0 || line >= end) return undefined;
      at = line;
    } else if (letter === "{" || letter === "[") {
      open.push({ kind: letter === "{" ? "map" : "seq", key: undefined, index: 0 });
      word = -1;
    } else if (letter === "}" || letter === "]") {
      open.pop();
      word = -1;
      if (open.length === 0) return { closed: at + 1 };
    } else if (letter === "," && top) {
      top.index += 1;
      top.key = undefined;
      word = -1;
    } else if (letter === ":" && top?.kind === "map" && top.key === undefined && isKeyEnd(text, at, end)) {
      top.key = unquoted(text.slice(word < 0 ? at : word, at));
      word = -1;
    } else if (word < 0 && !isSpace(letter)) {
      word = at;
    }
    at += 1;
  }
  return { open, from: word < 0 ? end : word };
}

/** Whether a colon ends a key: a space follows it, or a key in quotes stands before it. */
function isKeyEnd(text: string, at: number, end: number): boolean {
  return (at + 1 < end && isSpace(text[at + 1])) || text[at - 1] === '"' || text[at - 1] === "'";
}
