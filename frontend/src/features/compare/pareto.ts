import type { ComparedRow } from "@/lib/client/types.gen";
import type { FigureOf, Spread } from "./figures";

/** A row that has both figures. */
export interface Placed {
  /** Its position in the list. */
  readonly at: number;
  readonly row: ComparedRow;
  readonly x: Spread;
  readonly y: Spread;
}

export interface Placing {
  readonly placed: Placed[];
  /** Positions of the rows that lack one of the figures. */
  readonly lacking: number[];
}

export function place(rows: readonly ComparedRow[], x: FigureOf, y: FigureOf): Placing {
  const placed: Placed[] = [];
  const lacking: number[] = [];
  rows.forEach((row, at) => {
    const [left, right] = [x.of(row), y.of(row)];
    if (left && right) placed.push({ at, row, x: left, y: right });
    else lacking.push(at);
  });
  return { placed, lacking };
}

/** Those than which no other one is better in one figure and at least as good in the other, from left to right. */
export function front(points: readonly Placed[], x: FigureOf, y: FigureOf): Placed[] {
  const cost = (figure: FigureOf, { value }: Spread) => (figure.better === "low" ? value : -value);
  const costs = points.map((point) => [cost(x, point.x), cost(y, point.y)] as const);
  const isBeaten = (one: readonly [number, number]) =>
    costs.some(([a, b]) => a <= one[0] && b <= one[1] && (a < one[0] || b < one[1]));
  return points
    .filter((_, i) => !isBeaten(costs[i] ?? [0, 0]))
    .sort((a, b) => a.x.value - b.x.value || a.y.value - b.y.value);
}
