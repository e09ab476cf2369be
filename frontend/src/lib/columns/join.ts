/** A table of columns on its own x: x rises, NaN or null in y is a gap. */
export interface Table {
  readonly x: ArrayLike<number>;
  readonly ys: readonly ArrayLike<number | null>[];
}

/** What a chart takes: a shared x; `undefined` where another table's x has no value here, `null` for a gap. */
export interface Joined {
  readonly x: number[];
  readonly ys: (number | null | undefined)[][];
}

function cell(value: number | null | undefined): number | null {
  return value === null || value === undefined || Number.isNaN(value) ? null : value;
}

/** Merge tables onto the union of their x, in one pass; nothing is interpolated. */
export function join(tables: readonly Table[]): Joined {
  const heads = tables.map(() => 0);
  const x: number[] = [];
  const ys: (number | null | undefined)[][] = tables.flatMap((table) => table.ys.map(() => []));
  for (;;) {
    let next = Number.POSITIVE_INFINITY;
    for (const [t, table] of tables.entries()) {
      const value = table.x[heads[t] ?? 0];
      if (value !== undefined && value < next) next = value;
    }
    if (next === Number.POSITIVE_INFINITY) return { x, ys };
    x.push(next);
    let row = 0;
    for (const [t, table] of tables.entries()) {
      const head = heads[t] ?? 0;
      const hit = table.x[head] === next;
      for (const y of table.ys) {
        ys[row]?.push(hit ? cell(y[head]) : undefined);
        row += 1;
      }
      if (hit) heads[t] = skip(table.x, head, next);
    }
  }
}

/** M4 buckets may hold one x twice (first and max at once): the first of them is drawn. */
function skip(x: ArrayLike<number>, head: number, value: number): number {
  let i = head + 1;
  while (i < x.length && x[i] === value) i += 1;
  return i;
}
