import { describe, expect, it } from "vitest";
import { formatFactor } from "@/lib/format/numbers";
import { ordinal } from "@/lib/format/ordinal";
import { placeOf, reasonOf, sentenceOf } from "@/lib/queue/waiting-note";

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
    const told = (position: number, reason: string) => reasonOf({ position, reason }, 0);
    expect(told(4, "next to start")).toBe("Waiting for a free core (4th in queue)");
    expect(told(1, "next to start, then 1 run of its experiment")).toBe(
      "Waiting for a free core, then 1 run of its experiment (1st in queue)",
    );
    expect(told(2, "behind 1 experiment (3 runs)")).toBe("Behind 1 experiment (3 runs), 2nd in queue");
    expect(told(0, "takes its turn")).toBe("Takes its turn");
  });

  it("has the times of the server's phrases in the reader's time zone", () => {
    const now = new Date(2026, 5, 1, 12, 0).getTime();
    const utc = (at: Date) => at.toISOString().slice(0, 16).replace("T", " ");
    const [later, tomorrow] = [new Date(2026, 5, 1, 12, 30), new Date(2026, 5, 2, 9, 5)];
    expect(sentenceOf(`cluster offline since ${utc(later)} UTC`, now)).toBe("Cluster offline since 12:30");
    expect(sentenceOf(`needs 8 slots until about ${utc(tomorrow)} UTC`, now)).toBe(
      "Needs 8 slots until about 2026-06-02 09:05",
    );
    expect(sentenceOf(`held until ${utc(new Date(now)).slice(11)} UTC: a`, now)).toBe("Held until 12:00: a");
  });

  it("counts one run among all that wait, or among those that were sent", () => {
    expect(placeOf({ position: 2, runs_ahead: 3 })).toBe("4th in queue");
    expect(placeOf({ position: 0, runs_ahead: 1 })).toBe("2nd in turn");
  });
});
