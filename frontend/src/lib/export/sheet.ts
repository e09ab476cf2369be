import { NONE } from "@/lib/format/numbers";

/** A table as text: what its cells say, without drawings. */
export interface Sheet {
  readonly head: readonly string[];
  /** Which columns are aligned right. */
  readonly numeric: readonly boolean[];
  readonly rows: readonly (readonly string[])[];
}

const DRAWINGS = "svg, button, input, select, [aria-hidden=true]";
/** Signs around a name that runs from right to left: for who reads, not for programs. */
const DIRECTIONS = /[\u2066-\u2069]/g;
const squeezed = (text: string | null) => (text ?? "").replace(DIRECTIONS, "").replace(/\s+/g, " ").trim();

/** The words of a cell; what stands below its figure follows in parentheses. */
function textOf(cell: Element): string {
  const given = cell.getAttribute("data-export");
  if (given !== null) return given;
  const copy = cell.cloneNode(true) as Element;
  for (const drawing of copy.querySelectorAll(DRAWINGS)) drawing.remove();
  for (const below of copy.querySelectorAll("[data-range]")) {
    const text = squeezed(below.textContent);
    below.replaceWith(text ? ` (${text})` : "");
  }
  for (const part of copy.querySelectorAll("*")) {
    part.before(" ");
    part.after(" ");
  }
  return squeezed(copy.textContent).replace(/ ([,;:)])/g, "$1");
}

/** A line of cells; one that spans several columns is followed by empty ones. */
function lineOf(row: HTMLTableRowElement): { text: string[]; numeric: boolean[] } {
  const text: string[] = [];
  const numeric: boolean[] = [];
  for (const cell of row.cells) {
    for (let i = 0; i < cell.colSpan; i += 1) {
      text.push(i === 0 ? textOf(cell) : "");
      numeric.push(i === 0 && cell.hasAttribute("data-number"));
    }
  }
  return { text, numeric };
}

/** What a table shows, as it shows it; columns that only draw are left out. */
export function sheetOf(table: HTMLTableElement): Sheet {
  const head = table.tHead?.rows[0];
  const heads = head ? lineOf(head) : { text: [], numeric: [] };
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]).map((row) => lineOf(row).text);
  const said = heads.text.map((title, i) => title !== "" || rows.some((row) => (row[i] ?? "") !== ""));
  const kept = <T>(line: readonly T[]) => line.filter((_, i) => said[i] ?? true);
  return { head: kept(heads.text), numeric: kept(heads.numeric), rows: rows.map(kept) };
}

/** RFC 4180. What a spreadsheet would read as a formula is marked as text. */
export function csvOf({ head, rows }: Pick<Sheet, "head" | "rows">): string {
  return [head, ...rows].map((line) => `${line.map(csvCell).join(",")}\r\n`).join("");
}

function csvCell(text: string): string {
  if (text === NONE) return "";
  const formula = /^[=+@\t]/.test(text) || (text.startsWith("-") && Number.isNaN(Number(text)));
  const safe = formula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function markdownOf({ head, numeric, rows }: Sheet): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const rule = head.map((_, i) => (numeric[i] ? "---:" : "---"));
  return [line(head), `| ${rule.join(" | ")} |`, ...rows.map(line)].join("\n");
}

const LATEX: Record<string, string> = {
  "\\": "\\textbackslash{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "×": "$\\times$",
  µ: "$\\mu$",
  τ: "$\\tau$",
  "∞": "$\\infty$",
  "−": "$-$",
  // letters of their own in the encoding that documents have unless they choose another one
  "|": "$|$",
  "<": "$<$",
  ">": "$>$",
  "≤": "$\\le$",
  "≥": "$\\ge$",
  [NONE]: "--",
};

function latexText(text: string): string {
  return text.replace(/[&%$#_{}]|[\\~^×µτ∞−–|<>≤≥]/g, (found) => LATEX[found] ?? `\\${found}`);
}

/** For a paper, with booktabs. */
export function latexOf({ head, numeric, rows }: Sheet): string {
  const line = (cells: readonly string[]) => `${cells.map(latexText).join(" & ")} \\\\`;
  return [
    `\\begin{tabular}{${head.map((_, i) => (numeric[i] ? "r" : "l")).join("")}}`,
    "\\toprule",
    line(head),
    "\\midrule",
    ...rows.map(line),
    "\\bottomrule",
    "\\end{tabular}",
  ].join("\n");
}
