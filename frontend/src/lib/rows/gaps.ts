/** A row that is drawn, and the pixels of those left out between it and the one drawn before. */
export interface DrawnRow {
  readonly index: number;
  readonly gap: number;
}

export interface Drawn {
  readonly rows: readonly DrawnRow[];
  /** Pixels of the rows left out behind the last one that is drawn. */
  readonly after: number;
}

interface Placed {
  readonly index: number;
  readonly start: number;
  readonly end: number;
}

/** Up to so many rows all are drawn. */
export const PLAIN = 200;

/** Every row. */
export function allOf(count: number): Drawn {
  return { rows: Array.from({ length: count }, (_, index) => ({ index, gap: 0 })), after: 0 };
}

/** Rows in view, and perhaps one elsewhere, among `total` pixels of all rows; places count from `begin`. */
export function withGaps(placed: readonly Placed[], begin: number, total: number): Drawn {
  let at = begin;
  const rows = placed.map(({ index, start, end }) => {
    const gap = Math.max(0, start - at);
    at = end;
    return { index, gap };
  });
  return { rows, after: Math.max(0, begin + total - at) };
}

/** The indexes in view with one that has to stay drawn, such as that of the row with the focus. */
export function keeping(indexes: readonly number[], kept: number | undefined, count: number): number[] {
  if (kept === undefined || kept >= count || indexes.includes(kept)) return [...indexes];
  return [...indexes, kept].sort((a, b) => a - b);
}
