import { describe, expect, it } from "vitest";
import { join } from "@/lib/columns/join";

describe("join", () => {
  it("puts tables on the union of their x, without interpolating", () => {
    const joined = join([
      { x: [0, 2, 4], ys: [[1, 2, 3]] },
      { x: [1, 2, 5], ys: [[10, 20, 30]] },
    ]);
    expect(joined.x).toEqual([0, 1, 2, 4, 5]);
    expect(joined.ys).toEqual([
      [1, undefined, 2, 3, undefined],
      [undefined, 10, 20, undefined, 30],
    ]);
  });

  it("keeps gaps: NaN and null are gaps, a missing x is none", () => {
    const joined = join([{ x: [0, 1, 2], ys: [[1, Number.NaN, null]] }]);
    expect(joined.ys).toEqual([[1, null, null]]);
  });

  it("carries several columns of one table together", () => {
    const joined = join([
      { x: [3], ys: [[1], [0.5], [1.5]] },
      { x: [1], ys: [[7]] },
    ]);
    expect(joined.x).toEqual([1, 3]);
    expect(joined.ys).toEqual([
      [undefined, 1],
      [undefined, 0.5],
      [undefined, 1.5],
      [7, undefined],
    ]);
  });

  it("has every x once, rising, whatever the tables hold", () => {
    const tables = Array.from({ length: 7 }, (_, t) => ({
      x: Array.from({ length: 50 }, (_, i) => Math.floor((i * (t + 3)) / 2)),
      ys: [Array.from({ length: 50 }, (_, i) => i)],
    }));
    const { x, ys } = join(tables);
    const expected = [...new Set(tables.flatMap((table) => table.x))].sort((a, b) => a - b);
    expect(x).toEqual(expected);
    for (const y of ys) expect(y).toHaveLength(x.length);
  });

  it("is empty for no tables and for empty ones", () => {
    expect(join([])).toEqual({ x: [], ys: [] });
    expect(join([{ x: [], ys: [[]] }])).toEqual({ x: [], ys: [[]] });
  });
});
