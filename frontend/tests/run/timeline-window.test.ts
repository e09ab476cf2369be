import { describe, expect, it } from "vitest";
import { type Window, windowFrom } from "@/features/run/asked-window";
import { runSearch } from "@/features/run/search";
import { byKey, inside, moved, SHORTEST, windowText, zoomed } from "@/features/run/timeline-window";

const SPAN = 10;

describe("a window", () => {
  it.each<[string, Window, Window]>([
    ["inside", [2, 4], [2, 4]],
    ["before the start", [-1, 1], [0, 2]],
    ["behind the end", [9, 12], [7, 10]],
    ["wider than all", [-5, 50], [0, 10]],
    ["empty", [3, 3], [3, 3 + SHORTEST]],
  ])("that is %s is put inside the run", (_, asked, expected) => {
    const found = inside(asked, SPAN);
    expect(found[0]).toBeCloseTo(expected[0], 9);
    expect(found[1]).toBeCloseTo(expected[1], 9);
  });

  it.each([0.5, 0.25, 2])("keeps the time under the pointer when it is zoomed by %d", (factor) => {
    const at = 4.5;
    const [start, stop] = zoomed([4, 6], factor, at, 100);
    expect(stop - start).toBeCloseTo(2 * factor, 9);
    expect((at - start) / (stop - start)).toBeCloseTo(0.25, 9);
  });

  it("returns to where it was after in and out, away from the edges", () => {
    const back = zoomed(zoomed([4, 6], 0.5, 5.3, SPAN), 2, 5.3, SPAN);
    expect(back[0]).toBeCloseTo(4, 9);
    expect(back[1]).toBeCloseTo(6, 9);
  });

  it("does not become shorter than a microsecond, nor longer than the run", () => {
    const [start, stop] = zoomed([5, 5 + 2 * SHORTEST], 1e-9, 5, SPAN);
    expect(stop - start).toBeCloseTo(SHORTEST, 12);
    expect(zoomed([4, 6], 1e9, 5, SPAN)).toEqual([0, SPAN]);
  });

  it("moves by shares of its width and keeps it at the ends", () => {
    expect(moved([4, 6], 0.5, SPAN)).toEqual([5, 7]);
    expect(moved([4, 6], 9, SPAN)).toEqual([8, 10]);
    expect(moved([4, 6], -9, SPAN)).toEqual([0, 2]);
  });
});

describe("keys", () => {
  it.each<[string, Window | undefined]>([
    ["+", [4.5, 5.5]],
    ["=", [4.5, 5.5]],
    ["ArrowUp", [4.5, 5.5]],
    ["-", [3, 7]],
    ["ArrowDown", [3, 7]],
    ["ArrowLeft", [3.5, 5.5]],
    ["ArrowRight", [4.5, 6.5]],
    ["PageUp", [2, 4]],
    ["PageDown", [6, 8]],
    ["Home", [0, 10]],
    ["a", undefined],
    ["Tab", undefined],
  ])("%s", (key, expected) => {
    expect(byKey(key, [4, 6], SPAN)).toEqual(expected);
  });
});

describe("the URL", () => {
  it.each<[Window, string]>([
    [[0, 2], "0_2"],
    [[12.5, 12.625], "12.5_12.625"],
    [[1234.5678912, 1234.5678977], "1234.5678912_1234.5678977"],
    [[0.123456789, 100.987654321], "0.12_100.99"],
  ])("has %j as %s", (window, text) => {
    expect(windowText(window)).toBe(text);
    const back = windowFrom(text);
    const width = window[1] - window[0];
    expect(Math.abs((back?.[0] ?? 0) - window[0])).toBeLessThan(width / 1000);
    expect(Math.abs((back?.[1] ?? 0) - window[1])).toBeLessThan(width / 1000);
  });

  it.each(["", "1", "1_", "_2", "2_1", "-1_2", "1_2_3", "a_b", "1_Infinity", "1_1", 5, undefined])(
    "takes %j for everything",
    (text) => {
      expect(windowFrom(text)).toBeUndefined();
    },
  );

  it("keeps a window or a step, and no nonsense", () => {
    expect(runSearch({ t: "1_2", step: 3 })).toMatchObject({ t: "1_2", step: 3 });
    expect(runSearch({ t: "2_1", step: 0 })).toMatchObject({ t: undefined, step: undefined });
    expect(runSearch({ t: 7, step: 1.5 })).toMatchObject({ t: undefined, step: undefined });
  });
});
