import { expect, it } from "vitest";
import { ChartCursor } from "@/lib/charts/chart-cursor";

it("tells who listens of each new place once, and nobody who has left", () => {
  const cursor = new ChartCursor();
  const heard: (number | undefined)[][] = [[], []];
  const [leave] = heard.map((places) => cursor.subscribe(() => places.push(cursor.at())));
  expect(cursor.at()).toBeUndefined();
  cursor.move(3);
  cursor.move(3);
  cursor.move(4);
  leave?.();
  cursor.move(undefined);
  expect(heard).toEqual([
    [3, 4],
    [3, 4, undefined],
  ]);
});
