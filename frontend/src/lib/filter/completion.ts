import type { FilterFieldView } from "@/lib/client/types.gen";
import { quoted } from "@/lib/keeping/quoted";

/** Something that may stand where the caret is. */
export interface Proposal {
  readonly text: string;
  readonly note: string;
}

export interface Completion {
  /** Where the word begins that a proposal replaces, up to the caret. */
  readonly from: number;
  readonly proposals: readonly Proposal[];
}

const TOKEN = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|!=|!~|<=|>=|[=~<>(),]|[^\s=~<>(),!"']+|!/g;
const MOST = 12;
const JOINS: readonly Proposal[] = [
  { text: "and", note: "both" },
  { text: "or", note: "either" },
];
const NOT: Proposal = { text: "not", note: "the opposite" };

/** What the grammar expects next. */
type State =
  | { readonly expects: "field" | "join" }
  | {
      readonly expects: "operator" | "value" | "open" | "list value" | "list next";
      readonly field: FilterFieldView;
    };

function after(state: State, token: string, known: ReadonlyMap<string, FilterFieldView>): State {
  const word = token.toLowerCase();
  switch (state.expects) {
    case "field": {
      const field = known.get(word);
      return field ? { expects: "operator", field } : { expects: /^["']/.test(token) ? "join" : "field" };
    }
    case "operator":
      if (word === "in") return { expects: "open", field: state.field };
      if (/^[=~<>!]/.test(token)) return { expects: "value", field: state.field };
      return after({ expects: "join" }, token, known); // a flag stands alone
    case "open":
      return token === "(" ? { expects: "list value", field: state.field } : { expects: "join" };
    case "list value":
      return { expects: "list next", field: state.field };
    case "list next":
      return token === "," ? { expects: "list value", field: state.field } : { expects: "join" };
    case "value":
      return { expects: "join" };
    case "join":
      return { expects: word === "and" || word === "or" ? "field" : "join" };
  }
}

function all(state: State, fields: readonly FilterFieldView[]): readonly Proposal[] {
  switch (state.expects) {
    case "field":
      return [...fields.map(({ name, description }) => ({ text: name, note: description })), NOT];
    case "join":
      return JOINS;
    case "operator": {
      const operators = state.field.operators.map((text) => ({ text, note: MEANINGS[text] ?? "" }));
      return state.field.kind === "flag" ? [...operators, ...JOINS] : operators;
    }
    case "open":
      return [{ text: "(", note: "a list of values" }];
    case "list next":
      return [
        { text: ",", note: "another value" },
        { text: ")", note: "the end of the list" },
      ];
    default:
      return valuesOf(state.field).map((text) => ({ text, note: "" }));
  }
}

const MEANINGS: Readonly<Record<string, string>> = {
  "=": "equal",
  "!=": "not equal",
  "~": "contains",
  "!~": "does not contain",
  "<": "less, earlier",
  "<=": "at most",
  ">": "more, later",
  ">=": "at least",
  in: "one of several",
};

function valuesOf(field: FilterFieldView): string[] {
  if (field.kind === "flag") return ["true", "false"];
  if (field.kind === "time") return ["-1d", "-7d", "-30d", new Date().toISOString().slice(0, 10)];
  return field.values.map(quoted);
}

/** What may follow the text before the caret, and what of it that would replace. */
export function complete(text: string, caret: number, fields: readonly FilterFieldView[]): Completion {
  const before = text.slice(0, caret);
  const known = new Map(fields.map((field) => [field.name, field]));
  const tokens = [...before.matchAll(TOKEN)];
  const last = tokens.at(-1);
  const touches = last !== undefined && last.index + last[0].length === caret;
  const open = touches && /^[^=~<>(),!]/.test(last[0]) && !closed(last[0]) ? last : undefined;
  const done = open ? tokens.slice(0, -1) : tokens;
  let state: State = { expects: "field" };
  for (const [token] of done) state = after(state, token, known);
  const typed = open?.[0].replace(/^["']/, "").toLowerCase() ?? "";
  const fits = all(state, fields).filter((each) => each.text.replace(/^"/, "").toLowerCase().includes(typed));
  const whole = fits.some((each) => each.text.toLowerCase() === typed);
  const ranked = [...fits].sort((a, b) => rank(a.text, typed) - rank(b.text, typed));
  return { from: open?.index ?? caret, proposals: whole ? [] : ranked.slice(0, MOST) };
}

/** Whether a token is a text in quotes with its end. */
function closed(token: string): boolean {
  return token.length > 1 && /^["']/.test(token) && token.at(-1) === token[0];
}

/** What begins as typed comes before what contains it. */
function rank(proposal: string, typed: string): number {
  return proposal.replace(/^"/, "").toLowerCase().startsWith(typed) ? 0 : 1;
}

/** The text with a proposal in place of the word at the caret, and where the caret then is. */
export function accept(text: string, caret: number, from: number, proposal: string) {
  const head = text.slice(0, from);
  const gap = head && !/[\s(]$/.test(head) && proposal !== "," && proposal !== ")" ? " " : "";
  const start = `${head}${gap}${proposal} `;
  return { text: start + text.slice(endOf(text, caret, from)).trimStart(), caret: start.length };
}

/** Where the word ends that begins at `from` and holds the caret; a text in quotes without its end stops there. */
function endOf(text: string, caret: number, from: number): number {
  if (from === caret) return caret;
  const token = [...text.matchAll(TOKEN)].find(({ index }) => index === from)?.[0] ?? "";
  return /^["']/.test(token) && !closed(token) ? caret : Math.max(caret, from + token.length);
}
