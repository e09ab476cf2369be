import styles from "./form.module.css";

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

/** What the file of a method or of a workload says of it. */
export function Documentation({ text }: { text: string }) {
  return <pre className={styles.documentation}>{unfilled(text)}</pre>;
}
