/** What rows are compared by, in the order of the columns. */
const FIGURE_KEYS = ["time", "samples", "exposed", "bytes", "energy", "best", "target", "test"] as const;
export type FigureKey = (typeof FIGURE_KEYS)[number];

/** What is compared and how; all of it is in the URL. */
export interface CompareSearch {
  /** What is compared, as the API reads it: "12", "12/local/8/Sync EASGD". */
  rows?: string[];
  /** The row that the others are compared with; without it, each variant is compared on every two clusters. */
  against?: string;
  /** The figure by which the table is sorted; "-time" starts with the largest. */
  sort?: string;
  /** The chart's vertical and horizontal axis: one figure over another. */
  of?: FigureKey;
  over?: FigureKey;
}

const MOST = 100;

export function compareSearch(search: Record<string, unknown>): CompareSearch {
  const { rows, against, sort, of, over } = search;
  const listed = (Array.isArray(rows) ? rows : [rows]).flatMap((one) =>
    typeof one === "string" || typeof one === "number" ? String(one) || [] : [],
  );
  return {
    rows: listed.length > 0 ? listed.slice(0, MOST) : undefined,
    against: typeof against === "string" && against !== "" ? against : undefined,
    sort: typeof sort === "string" && figureOf(sort.replace(/^-/, "")) ? sort : undefined,
    of: figureOf(of),
    over: figureOf(over),
  };
}

function figureOf(value: unknown): FigureKey | undefined {
  return FIGURE_KEYS.find((key) => key === value);
}

/** The order of the table: which figure, and whether the largest comes first. */
export function orderOf(sort: string | undefined): { key: FigureKey | undefined; down: boolean } {
  const down = sort?.startsWith("-") ?? false;
  return { key: figureOf(down ? sort?.slice(1) : sort), down };
}

/** A click on a column: upwards, then downwards, then as listed. */
export function nextSort(sort: string | undefined, key: FigureKey): string | undefined {
  if (sort === key) return `-${key}`;
  return sort === `-${key}` ? undefined : key;
}
