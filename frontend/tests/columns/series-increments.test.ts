import { describe, expect, it } from "vitest";
import type { Series, SeriesAnswer } from "@/lib/client/types.gen";
import { continued, marksOf } from "@/lib/columns/series-increments";

const one = (run: string, changes: Partial<Series> = {}): Series => ({
  run,
  metric: "train_loss",
  x: [1, 2, 3],
  y: [3, null, 1],
  n: 3,
  of: 3,
  kept_before: 0,
  mark: `mark of ${run}`,
  ...changes,
});
const answer = (...series: Series[]): SeriesAnswer => ({ axis: "clock", unit: "s", series });

describe("series that continue others", () => {
  it("are put together with them; what did not change stays the very same", () => {
    const before = answer(one("a"), one("b"), one("c"));
    const after = continued(
      answer(
        one("a", { x: [2.5, 4], y: [2, 0], n: 4, of: 9, kept_before: 2 }),
        one("b", { x: [], y: [], kept_before: 3 }),
        one("c", { x: [9], y: [9], n: 1 }),
      ),
      before,
    );
    expect(after.series[0]).toMatchObject({
      x: [1, 2, 2.5, 4],
      y: [3, null, 2, 0],
      n: 4,
      of: 9,
      kept_before: 0,
    });
    expect(after.series[1]).toBe(before.series[1]);
    expect(after.series[2]).toMatchObject({ x: [9], y: [9] });
  });

  it("name their marks in the order of the query, and none where nothing is known", () => {
    const query = { runs: ["b", "z"], metrics: ["train_loss", "staleness"] };
    expect(marksOf(query, answer(one("a"), one("b")))).toEqual(["mark of b", "", "", ""]);
    expect(marksOf(query, undefined)).toBeUndefined();
    expect(marksOf(query, answer(one("a")))).toBeUndefined();
  });

  it("keep points and take the number of those that are stored", () => {
    const had = one("a");
    const after = continued(answer(one("a", { x: [], y: [], kept_before: 3, of: 7 })), answer(had));
    expect(after.series[0]?.x).toBe(had.x);
    expect(after.series[0]?.of).toBe(7);
  });
});
