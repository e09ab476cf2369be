import { describe, expect, it } from "vitest";
import { axisTitle, FIGURES, figure } from "@/features/compare/figures";
import { groupsOf, placeOf, taskOf } from "@/features/compare/names";
import { place } from "@/features/compare/pareto";
import { compareSearch } from "@/features/compare/search";
import { keyOf } from "@/features/compare/selection";
import { valueAxis } from "@/lib/charts/value-axis";
import type { TimeToTarget } from "@/lib/client/types.gen";
import { comparedRow, comparedRows } from "../support/fixtures/compare";
import { estimate } from "../support/fixtures/experiment";

const time = (changes: Partial<TimeToTarget> = {}): TimeToTarget => ({
  ...{ mean: 12, median: 12.5, low: 11, high: 130, n: 5, reached: 5, unit: "s" },
  ...changes,
});

describe("a figure", () => {
  const row = comparedRow(7, "a", {
    time_to_target: time(),
    samples: estimate(1_234_567, 1000),
    communication_fraction: estimate(0.123, 0.01),
    wire: estimate(2.5e9, 1e8),
    energy: estimate(12_345, 200),
    best_accuracy: estimate(0.98, 0.001),
    target_accuracy: estimate(0.971, 0, 1),
    test_accuracy: estimate(null, 0, 0),
  });

  it.each([
    ["time", "12.5 s", "12.5"],
    ["samples", "1,234,567", "1.2M"],
    ["exposed", "12.3%", "12.3%"],
    ["bytes", "2.5 GB", "2.5 GB"],
    ["energy", "12.3 kJ", "12.3 kJ"],
    ["best", "98.0%", "98%"],
    ["target", "97.1%", "97.1%"],
  ] as const)("%s is read from its row, and written for the table and for an axis", (key, text, tick) => {
    const { of, format, tick: onAxis } = figure(key);
    const found = of(row);
    expect([format(found?.value ?? null), onAxis(found?.value ?? 0)]).toEqual([text, tick]);
  });

  it("has its spread, of times from the least seed to the greatest, or none", () => {
    expect(figure("time").of(row)).toEqual({ value: 12.5, low: 11, high: 130 });
    expect(figure("best").of(row)).toEqual({ value: 0.98, low: 0.979, high: 0.981 });
    expect(figure("target").of(row)).toEqual({ value: 0.971, low: null, high: null });
  });

  it("is missing where no seed has it, and where half of the seeds missed the target", () => {
    expect(figure("test").of(row)).toBeNull();
    expect(figure("time").of(comparedRow(7, "a", { time_to_target: null }))).toBeNull();
    expect(figure("time").of(comparedRow(7, "a", { time_to_target: time({ median: null }) }))).toBeNull();
  });

  it("is better at one end of its axis, and has a unit where it is a time", () => {
    const high = FIGURES.filter(({ better }) => better === "high").map(({ key }) => key);
    expect(high).toEqual(["best", "target", "test"]);
    expect([axisTitle(figure("time"), false), axisTitle(figure("time"), true)]).toEqual([
      "Time to target (s)",
      "Time to target (virtual s)",
    ]);
    expect(axisTitle(figure("bytes"), true)).toBe("Bytes sent");
    expect(axisTitle(figure("energy"), false)).toBe("Energy (J)");
  });

  it("is known to the address", () => {
    const keys = FIGURES.map(({ key }) => key);
    expect(keys.map((of) => compareSearch({ of }).of)).toEqual(keys);
    expect(compareSearch({ of: "beauty" }).of).toBeUndefined();
  });

  it("against itself stands on a line", () => {
    const { placed } = place([row], figure("time"), figure("time"));
    expect(placed[0]?.x).toEqual(placed[0]?.y);
  });
});

describe("rows", () => {
  const compared = comparedRows({ tasks: ["digits", "mnist"] });

  it("share an axis if they have one task and one kind of time", () => {
    const other = comparedRow(9, "a", { task: 1 });
    const groups = groupsOf([...compared.rows, other]);
    const keys = groups.map(([, rows]) => rows.map(keyOf));
    expect(keys).toEqual([
      ["7/local/2/Original EASGD", "7/local/2/Sync EASGD", "8/hpc/2/Sync EASGD"],
      ["7/10gbe/2/Sync EASGD"],
      ["9/local/2/a"],
    ]);
    const tasks = groups.map(([, rows]) => taskOf(compared, rows));
    expect(tasks).toEqual(["digits", "digits, simulated", "mnist"]);
  });

  it("say where they ran", () => {
    const places = [1, 8].map((workers) => placeOf(comparedRow(7, "a", { workers })));
    expect(places).toEqual(["local, 1 worker", "local, 8 workers"]);
  });
});

describe("an axis over spreads", () => {
  it("leaves out ends that have no logarithm", () => {
    const { log, place: at } = valueAxis([
      { value: 1, low: -5, high: 2 },
      { value: 100, low: 0, high: 200 },
    ]);
    expect(log).toBe(true);
    expect(at(1)).toBeCloseTo(0.1 / 1.2, 5);
    expect(at(100)).toBeLessThan(at(200));
  });
});
