import { Scanner, type Token } from "./equation-scan";

/** A part of an equation; `spaced`: a space stands before it. */
export type Item = { readonly spaced: boolean } & (
  | {
      readonly kind: "letter" | "name" | "number" | "operator" | "relation" | "stop" | "word";
      readonly text: string;
    }
  | {
      readonly kind: "fence";
      readonly open: string;
      readonly close: string;
      readonly inside: readonly Item[];
    }
  | { readonly kind: "scripts"; readonly base: Item; readonly below: readonly Item[]; readonly above: string }
  | { readonly kind: "sum"; readonly below: readonly Item[] }
  | { readonly kind: "applied"; readonly name: Item; readonly to: Item }
  | { readonly kind: "hat"; readonly base: Item }
  | { readonly kind: "root" | "row"; readonly inside: readonly Item[] }
  | { readonly kind: "fraction"; readonly over: readonly Item[]; readonly under: readonly Item[] }
);

const GREEK: Record<string, string> = {
  ...{ alpha: "α", beta: "β", gamma: "γ", eta: "η", mu: "μ", phi: "φ", rho: "ρ", tau: "τ" },
};
const NAMES = new Set(["lr", "outer_lr", "slow_lr", "eps", "mean", "max", "min"]);
const CLOSING: Record<string, string> = { "(": ")", "[": "]", "|": "|" };
const RELATIONS = new Set(["=", "<", ">", "<=", ">=", "->"]);
const OPERATORS = new Set(["+", "-", "/"]);

/** The parts of a text in the plain notation of docstrings. What has no meaning in it is a word, as it stands. */
export function parse(text: string): Item[] {
  return new Parser(new Scanner(text)).row("");
}

class Parser {
  constructor(private readonly scanner: Scanner) {}

  /** The items up to a closing sign, which is taken, or to the end. */
  row(close: string): Item[] {
    const items: Item[] = [];
    for (;;) {
      const token = this.scanner.peek();
      if (token.kind === "end") return items;
      if (close && token.text === close) {
        this.scanner.next();
        return items;
      }
      items.push(this.quotient(close !== "" || isSign(items.at(-1))));
    }
  }

  private quotient(operand: boolean): Item {
    const over = this.item(operand);
    if (!isOperand(over) || this.scanner.peek().text !== "/") return over;
    const slash = this.scanner.next();
    const under = this.item(true);
    if (!isOperand(under)) return { kind: "row", spaced: over.spaced, inside: [over, word(slash), under] };
    const summed = under.kind === "sum" ? [this.item(true)] : [];
    return { kind: "fraction", spaced: over.spaced, over: bare(over), under: [...bare(under), ...summed] };
  }

  /** One item with what is attached to it: subscript, primes, exponent, index, argument. */
  private item(operand: boolean): Item {
    let found = this.primary(operand);
    if (!["letter", "name", "number", "fence", "sum"].includes(found.kind)) return found;
    let below: readonly Item[] = [];
    if (this.scanner.takes("_")) below = this.subscript();
    if (found.kind === "sum") return { ...found, below };
    let above = "";
    const { spaced } = found;
    const attached = () => {
      if (below.length === 0 && above === "") return;
      found = { kind: "scripts", spaced, base: found, below, above };
      [below, above] = [[], ""];
    };
    for (;;) {
      if (this.scanner.takes("'")) above += "′";
      else if (this.scanner.takes("^")) {
        const exponent = this.exponent();
        if (exponent) above += exponent;
        else found = { kind: "hat", spaced, base: found };
      } else if (this.scanner.takes("[")) {
        attached();
        found = { kind: "applied", spaced, name: found, to: this.fence("[", false) };
      } else if (found.kind !== "number" && found.kind !== "fence" && this.scanner.takes("(")) {
        attached();
        found = { kind: "applied", spaced, name: found, to: this.fence("(", false) };
      } else break;
    }
    attached();
    return found;
  }

  private primary(operand: boolean): Item {
    const token = this.scanner.next();
    const { text, spaced } = token;
    if (token.kind === "number") return { kind: "number", spaced, text };
    if (token.kind === "word") return this.named(token, operand);
    if (token.kind === "other") return { kind: "word", spaced, text };
    if (CLOSING[text]) return this.fence(text, spaced);
    if (RELATIONS.has(text)) return { kind: "relation", spaced, text };
    return { kind: OPERATORS.has(text) ? "operator" : "stop", spaced, text };
  }

  private named(token: Token, operand: boolean): Item {
    const { text, spaced } = token;
    const follows = this.scanner.peek();
    const attached = follows.spaced ? "" : follows.text;
    if (text === "sum" && attached === "_") return { kind: "sum", spaced, below: [] };
    if (text === "sqrt" && this.scanner.takes("(")) return { kind: "root", spaced, inside: this.row(")") };
    if (GREEK[text]) return { kind: "letter", spaced, text: GREEK[text] };
    if (text.length === 1 && !(text === "a" && this.beforeWord())) {
      return this.numbered({ kind: "letter", spaced, text });
    }
    if (text === "log") return this.numbered({ kind: "name", spaced, text });
    if (NAMES.has(text) || attached === "(" || attached === "_") return { kind: "name", spaced, text };
    const apostrophe = attached === "'" ? this.scanner.next().text : "";
    const named = operand || OPERATORS.has(follows.text);
    return { kind: named && !apostrophe ? "name" : "word", spaced, text: text + apostrophe };
  }

  /** "b1", "t0", "log2": the number is a subscript. */
  private numbered(base: Item): Item {
    const { kind, spaced, text } = this.scanner.peek();
    if (kind !== "number" || spaced) return base;
    this.scanner.next();
    const below: Item[] = [{ kind: "number", spaced: false, text }];
    const numbered: Item = { kind: "scripts", spaced: base.spaced, base, below, above: "" };
    if (!this.scanner.takes("(")) return numbered;
    return { kind: "applied", spaced: base.spaced, name: numbered, to: this.fence("(", false) };
  }

  /** Whether "a" is an article: an ordinary word follows it. */
  private beforeWord(): boolean {
    const [word, then] = [this.scanner.peek(), this.scanner.peek(1)];
    if (word.kind !== "word" || !word.spaced || word.text.length === 1) return false;
    return !GREEK[word.text] && !NAMES.has(word.text) && (then.spaced || !"_(^".includes(then.text));
  }

  private fence(open: string, spaced: boolean): Item {
    const close = CLOSING[open] ?? "";
    return { kind: "fence", spaced, open, close, inside: this.row(close) };
  }

  private subscript(): Item[] {
    const { kind, text } = this.scanner.next();
    if (kind === "word" && text.length <= 2)
      return [...text].map((each): Item => ({ kind: "letter", spaced: false, text: each }));
    return [{ kind: kind === "number" ? "number" : "name", spaced: false, text }];
  }

  /** "2", "T", "-1"; empty: it is a hat. */
  private exponent(): string {
    const { kind, text, spaced } = this.scanner.peek();
    if (spaced || kind === "end" || (kind === "sign" && text !== "-")) return "";
    this.scanner.next();
    return text === "-" ? `−${this.scanner.next().text}` : text;
  }
}

function isSign(item: Item | undefined): boolean {
  return item?.kind === "operator" || item?.kind === "relation";
}

function isOperand(item: Item): boolean {
  return !["operator", "relation", "stop", "word"].includes(item.kind);
}

/** Without the parentheses, which a fraction's line replaces. */
function bare(item: Item): readonly Item[] {
  return item.kind === "fence" && item.open === "(" ? item.inside : [item];
}

function word({ text, spaced }: Token): Item {
  return { kind: "word", spaced, text };
}
