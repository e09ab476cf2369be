import { describe, expect, it } from "vitest";
import { allOf, keeping, withGaps } from "@/lib/rows/gaps";

const placed = (from: number, to: number, height = 10, begin = 0) =>
  Array.from({ length: to - from + 1 }, (_, i) => ({
    index: from + i,
    start: begin + (from + i) * height,
    end: begin + (from + i + 1) * height,
  }));

/** Height of a list with these rows of `height`, gaps and rest: it must not depend on what is drawn. */
const heightOf = ({ rows, after }: ReturnType<typeof withGaps>, height = 10) =>
  rows.reduce((sum, { gap }) => sum + gap + height, after);

describe("the rows in view", () => {
  it("stand where they would with all rows", () => {
    const drawn = withGaps(placed(20, 24), 0, 1000);
    expect(drawn.rows[0]).toEqual({ index: 20, gap: 200 });
    expect(drawn.rows.slice(1).map(({ gap }) => gap)).toEqual([0, 0, 0, 0]);
    expect(drawn.after).toBe(750);
  });

  it("leave the height of the whole, wherever one looks and wherever the list begins", () => {
    for (const [from, to] of [
      [0, 5],
      [40, 60],
      [95, 99],
    ] as const)
      for (const begin of [0, 730])
        expect(heightOf(withGaps(placed(from, to, 10, begin), begin, 1000))).toBe(1000);
  });

  it("may have one apart, above or below", () => {
    const one = placed(3, 3);
    const above = withGaps([...one, ...placed(50, 52)], 0, 1000);
    expect(above.rows.map(({ index, gap }) => [index, gap])).toEqual([
      [3, 30],
      [50, 460],
      [51, 0],
      [52, 0],
    ]);
    const below = withGaps([...placed(0, 1), ...placed(90, 90)], 0, 1000);
    expect(heightOf(above)).toBe(1000);
    expect(heightOf(below)).toBe(1000);
  });

  it("are none before anything is measured: the place is kept", () => {
    expect(withGaps([], 500, 1000)).toEqual({ rows: [], after: 1000 });
  });
});

it("without anything left out every row is drawn, and nothing between them", () => {
  expect(allOf(3)).toEqual({
    rows: [
      { index: 0, gap: 0 },
      { index: 1, gap: 0 },
      { index: 2, gap: 0 },
    ],
    after: 0,
  });
});

describe("a row that has to stay", () => {
  it.each([
    [undefined, 100, [5, 6, 7]],
    [6, 100, [5, 6, 7]],
    [2, 100, [2, 5, 6, 7]],
    [90, 100, [5, 6, 7, 90]],
    [90, 50, [5, 6, 7]], // the list has become shorter
  ])("%s of %s", (kept, count, expected) => {
    expect(keeping([5, 6, 7], kept, count)).toEqual(expected);
  });
});
