/** A sign, number or word of the plain notation, and whether a space stands before it. */
export interface Token {
  readonly kind: "word" | "number" | "sign" | "other" | "end";
  readonly text: string;
  readonly spaced: boolean;
}

/** Names and words with a sign in them come first; `other` is what the notation has no meaning for. */
const TOKEN =
  /(?<word>outer_lr|slow_lr|`[^`]*`|[A-Za-z]{2,}(?:-[A-Za-z]+)+|[A-Za-z]+)|(?<number>\d+(?:\.\d+)?)|(?<sign>\.\.\.|>=|<=|->|[-+=<>/,;:()[\]|^_'.])|(?<other>\S)/y;

const END: Token = { kind: "end", text: "", spaced: true };

export class Scanner {
  private readonly tokens: Token[] = [];
  private at = 0;

  constructor(text: string) {
    let place = 0;
    while (place < text.length) {
      const start = place;
      while (text[place] === " ") place += 1;
      TOKEN.lastIndex = place;
      const found = TOKEN.exec(text);
      if (!found) break;
      const [kind] = Object.entries(found.groups ?? {}).find(([, value]) => value !== undefined) ?? ["other"];
      this.tokens.push({ kind: kind as Token["kind"], text: found[0], spaced: place > start || start === 0 });
      place = TOKEN.lastIndex;
    }
  }

  peek(ahead = 0): Token {
    return this.tokens[this.at + ahead] ?? END;
  }

  next(): Token {
    const token = this.peek();
    this.at += 1;
    return token;
  }

  /** Whether this sign follows without a space; if so it is taken. */
  takes(text: string): boolean {
    const { text: found, spaced, kind } = this.peek();
    if (kind !== "sign" || found !== text || spaced) return false;
    this.at += 1;
    return true;
  }
}
