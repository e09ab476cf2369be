import { expect, it } from "vitest";
import { widest } from "@/features/experiment/widest";
import { runSummary } from "../support/fixtures/run";

it("the runs that make columns wide are few, and each is widest somewhere", () => {
  const runs = Array.from({ length: 300 }, (_, i) => runSummary(i + 1));
  const long = runSummary(1000, { variant: "A method with a very long name" });
  const marked = runSummary(1001, { cluster: "c", simulated: true, oversubscribed: true });
  const again = runSummary(12345, { attempt: 3 });
  const found = widest([...runs, long, marked, again]);
  expect(found).toEqual(expect.arrayContaining([long, marked, again]));
  expect(found.length).toBeLessThan(7);
  expect(new Set(found).size).toBe(found.length);
  expect(widest([])).toEqual([]);
});
