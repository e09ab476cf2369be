/** Characters that every line but the last of a filled paragraph has. */
const FILLED = 60;

function isProse(lines: readonly string[]): boolean {
  const laidOut = lines.some((line) => /^\s|^[-*+] |\S\s{2,}\S/.test(line));
  return !laidOut && lines.slice(0, -1).every((line) => line.length >= FILLED);
}

/** The text with its paragraphs in one line each, to be broken where the page ends; equations keep their lines. */
export function unfilled(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((paragraph) => {
      const lines = paragraph.split("\n");
      return isProse(lines) ? lines.join(" ") : paragraph;
    })
    .join("\n\n");
}

export interface Paragraph {
  /** Equations and tables keep their lines. */
  readonly kind: "prose" | "laid out";
  /** "Reference", "Readings": what stands before its colon; empty of the others. */
  readonly heading: string;
  readonly text: string;
}

const HEADINGS = ["Reference", "References", "Readings", "Deviations", "Limits"];

/** The paragraphs of a docstring after its title; the first has the equations, if it has any. */
export function paragraphsOf(documentation: string): Paragraph[] {
  const [, ...paragraphs] = documentation.trim().split(/\n{2,}/);
  return paragraphs.map((paragraph, i) => {
    const [head = "", ...rest] = paragraph.split(":");
    const heading = HEADINGS.includes(head) && rest.length > 0 ? head : "";
    const text = heading ? rest.join(":").trim() : paragraph;
    const lines = text.split("\n");
    const equations = i === 0 && text.includes("=");
    if (!heading && (equations || !isProse(lines))) return { kind: "laid out", heading, text };
    return { kind: "prose", heading, text: lines.map((line) => line.trim()).join(" ") };
  });
}
