import { describe, expect, it } from "vitest";
import { formatFactor } from "@/lib/format/numbers";
import { ordinal } from "@/lib/format/ordinal";
import { placeOf, reasonOf } from "@/lib/queue/waiting-note";

it.each<[number, string]>([
  [1, "1st"],
  [2, "2nd"],
  [3, "3rd"],
  [4, "4th"],
  [11, "11th"],
  [12, "12th"],
  [13, "13th"],
  [21, "21st"],
  [102, "102nd"],
  [111, "111th"],
])("%i is the %s", (n, word) => {
  expect(ordinal(n)).toBe(word);
});

it.each<[number | null, string]>([
  [2.71, "2.7"],
  [0.14, "0.14"],
  [15.2, "15"],
  [1234, "1,234"],
  [0.012, "0.012"],
  [1.003, "1.003"],
  [0.9996, "0.9996"],
  [1, "1.0"],
  [null, "–"],
])("a factor of %d reads “%s”", (value, text) => {
  expect(formatFactor(value)).toBe(text);
});

describe("what waits", () => {
  it("says its place in the queue, and why", () => {
    expect(reasonOf({ position: 4, reason: "next to start" })).toBe("4th in queue, waiting for a free core");
    expect(reasonOf({ position: 2, reason: "cluster is drained" })).toBe("2nd in queue, cluster is drained");
    expect(reasonOf({ position: 0, reason: "takes its turn" })).toBe("takes its turn");
  });

  it("counts one run among all that wait, or among those that were sent", () => {
    expect(placeOf({ position: 2, runs_ahead: 3 })).toBe("4th in queue");
    expect(placeOf({ position: 0, runs_ahead: 1 })).toBe("2nd in turn");
  });
});
