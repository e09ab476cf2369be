import { describe, expect, it } from "vitest";
import { addressOf, gridOf, shownIn, textOf } from "@/features/experiments/columns";
import { claimOf, orderIn, type SortKey, sorted, sortOf, turned } from "@/features/experiments/order";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { summary } from "../support/fixtures/experiment";

const NOW = Date.parse("2026-05-01T12:00:00Z");
const at = (minutes: number) => new Date(NOW + minutes * 60_000).toISOString();

/** Newest first, as the server lists them. */
const LIST: readonly ExperimentSummary[] = [
  summary(4, {
    name: "Comparison 10",
    user: "ben",
    state: "running",
    runs: { succeeded: 1, running: 3 },
    created_at: at(-90),
    headlines: ["Inconclusive on local: Sync SGD 14× (0.14 to 95, 3 seeds)"],
  }),
  summary(3, {
    name: "Comparison 9",
    user: "ana",
    state: "succeeded",
    runs: { succeeded: 4 },
    created_at: at(-200),
    finished_at: at(-100),
    headlines: ["Fastest on local: EASGD 3×, 2.7× (1.9 to 3.8), not separated from Sync SGD"],
  }),
  summary(2, {
    name: "alpha",
    user: "ana",
    state: "queued",
    runs: { queued: 4 },
    created_at: at(-1),
  }),
  summary(1, {
    name: "Beta",
    user: "cem",
    state: "failed",
    runs: { failed_user: 1, succeeded: 3 },
    created_at: at(-50),
    finished_at: at(-20),
    headlines: ["Fastest on local: Local SGD, at least 1,200×"],
  }),
];

const numbers = (key: SortKey, down: boolean) => sorted(LIST, { key, down }, NOW).map(({ number }) => number);

describe("the order", () => {
  it.each<[SortKey, boolean, number[]]>([
    ["added", true, [4, 3, 2, 1]],
    ["added", false, [1, 2, 3, 4]],
    ["name", false, [2, 1, 3, 4]], // 9 before 10, and a before B
    ["user", false, [3, 2, 4, 1]], // of ana the newest first
    ["state", false, [4, 2, 1, 3]],
    ["progress", true, [3, 1, 4, 2]],
    ["duration", true, [3, 4, 1, 2]], // 100, 90 so far, 30, 1 so far
    ["finished", true, [1, 3, 4, 2]], // what has not ended is last,
    ["finished", false, [3, 1, 4, 2]], // whichever way
    ["verdict", true, [1, 3, 4, 2]],
  ])("by %s, down: %s", (key, down, expected) => {
    expect(numbers(key, down)).toEqual(expected);
  });

  it.each<[string | undefined, number | undefined]>([
    [undefined, undefined],
    ["Fastest so far on local: Sync EASGD, overlapped, 2.7× (1.9 to 3.8)", 2.7],
    ["Fastest on a (8 workers): Original EASGD, the baseline, not separated from Sync SGD", 1],
    ["Fastest on local: 5×, at least 1.4×, not separated from A and B", 1.4],
    ["Fastest on local: 5×, at least 1.3× (as the best of 7), not separated from A and B", 1.3],
    ["Fastest on local: Sync SGD, 2.7× (1.2 to 6.0, as the best of 7)", 2.7],
    ["Fastest on local: 5×, at least 1.4×, no claim on A", 1.4],
    ["Inconclusive on local: Sync SGD 14× (0.14 to 15, 3 seeds)", 0],
    ["No verdict on local: needs 3 finished seed pairs, has 0", -1],
    ["No target: final figures on local", -1],
  ])("claims of %s", (line, claim) => {
    expect(claimOf(line)).toBe(claim);
  });

  it("is in the address, the usual one not", () => {
    for (const text of ["duration", "-duration", "added", "name", "-name"])
      expect(sortOf(orderIn(text))).toBe(text);
    for (const text of [undefined, "-added", "colour", "-", "--name"])
      expect(sortOf(orderIn(text))).toBeUndefined();
  });

  it("goes the other way at the second click, and its own at the first", () => {
    const first = turned(orderIn(undefined), "duration");
    expect(first).toEqual({ key: "duration", down: true });
    expect(turned(first, "duration")).toEqual({ key: "duration", down: false });
    expect(turned(first, "name")).toEqual({ key: "name", down: false });
  });
});

describe("the columns", () => {
  it("are in the address, the usual ones not", () => {
    const usual = shownIn(undefined);
    expect([...usual]).toEqual(["verdict", "variants", "curve", "state", "progress"]);
    expect(addressOf(usual)).toBeUndefined();
    for (const text of ["verdict.duration.state", "project", "none"])
      expect(addressOf(shownIn(text))).toBe(text);
    expect(addressOf(shownIn("state.verdict.colour"))).toBe("verdict.state"); // in their order
    expect(shownIn("colour")).toEqual(usual);
  });

  it("have a place each in a row", () => {
    const tracks = (text: string) =>
      gridOf(shownIn(text))
        .columns.replace(/\([^)]*\)/g, "")
        .split(" ").length;
    const ends = 3; // marks, name and menu
    expect(tracks("none")).toBe(ends);
    expect(tracks("verdict.variants")).toBe(ends); // they are lines below the name
    expect(tracks("state.progress")).toBe(ends + 1); // one place for both
    expect(tracks("project.user.duration.curve.state")).toBe(ends + 5);
  });

  it("say how long it took, or takes so far", () => {
    const [running, ended] = LIST;
    if (!running || !ended) throw new Error("no experiments");
    expect(textOf("duration", running, NOW).text).toBe("1 h 30 min");
    expect(textOf("duration", ended, NOW)).toMatchObject({ text: "1 h 40 min", title: "Duration" });
    expect(textOf("finished", running, NOW).text).toBe("not yet");
    expect(textOf("finished", ended, NOW).text).toBe("1 h ago");
  });
});
