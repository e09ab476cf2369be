/** What docs/algorithms.md, made from the methods and their tests, says of one method beyond its docstring. */
export interface Findings {
  /** The methods that it equals, the method that it is a preset of, its stability bound. */
  readonly remarks: readonly string[];
  readonly verified: readonly Verified[];
  /** What its class claims nothing about; empty: nothing is left out. */
  readonly missing: string;
}

/** A property that a test verifies, with the numbers of workers. */
export interface Verified {
  readonly property: string;
  readonly virtual: string;
  readonly mpi: string;
}

const REMARKS = /^(A preset of|\*\*Equals\*\*|Stability bound)/;
const plain = (text: string) => text.replaceAll("\n", " ").replaceAll("**", "");

/** Findings by the name of the method. */
export function findingsOf(page: string): ReadonlyMap<string, Findings> {
  const [, ...sections] = page.split(/^## /m);
  return new Map(
    sections.map((section) => {
      const [name = "", ...paragraphs] = section.split(/\n{2,}/);
      const table = paragraphs.find((paragraph) => paragraph.startsWith("| verified |"));
      const missing = paragraphs.find((paragraph) => paragraph.startsWith("**Not verified**"));
      return [
        name.trim(),
        {
          remarks: paragraphs.filter((paragraph) => REMARKS.test(paragraph)).map(plain),
          verified: (table ?? "").trim().split("\n").slice(2).map(rowOf),
          missing: plain(missing ?? "").trim(),
        },
      ];
    }),
  );
}

function rowOf(line: string): Verified {
  const [, property = "", virtual = "", mpi = ""] = line.split("|").map((cell) => cell.trim());
  return { property: property.charAt(0).toUpperCase() + property.slice(1), virtual, mpi };
}
