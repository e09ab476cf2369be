import { describe, expect, it } from "vitest";
import { figure, sorted } from "@/features/compare/figures";
import { colorsOf, namesOf, placeOf } from "@/features/compare/names";
import { parameterAxes } from "@/features/compare/parameter-axes";
import { front, place } from "@/features/compare/pareto";
import { compareSearch, nextSort, orderOf } from "@/features/compare/search";
import { choicesOf, hasRow, isRun, keyOf, rowsOf, withExperiments } from "@/features/compare/selection";
import { valueAxis } from "@/lib/charts/value-axis";
import { settingName, settingValue } from "@/lib/format/settings";
import { comparedExperiment, comparedRow, comparedRows } from "../support/fixtures/compare";
import { estimate } from "../support/fixtures/experiment";

describe("what an address asks for", () => {
  it("is read as far as it makes sense", () => {
    const search = {
      rows: ["12", 13, "", null],
      against: "12/a/2/b",
      sort: "-time",
      of: "test",
      over: "bytes",
    };
    expect(compareSearch(search)).toEqual({ ...search, rows: ["12", "13"] });
    expect(compareSearch({ rows: 12 }).rows).toEqual(["12"]);
    const nothing = { rows: undefined, against: undefined, sort: undefined, of: undefined, over: undefined };
    expect(compareSearch({ rows: {}, against: 1, sort: "-size", of: 3, over: "size" })).toEqual(nothing);
    expect(compareSearch({ rows: Array.from({ length: 300 }, (_, i) => i + 1) }).rows).toHaveLength(100);
  });

  it("sorts upwards, downwards, and not", () => {
    const clicks = [nextSort(undefined, "time"), nextSort("time", "time"), nextSort("-time", "time")];
    expect(clicks).toEqual(["time", "-time", undefined]);
    expect(nextSort("-time", "bytes")).toBe("bytes");
    expect([orderOf("-bytes"), orderOf(undefined)]).toEqual([
      { key: "bytes", down: true },
      { key: undefined, down: false },
    ]);
  });
});

describe("a choice", () => {
  it.each([
    [["12"], [], [], []],
    [["12//8"], [], ["8"], []],
    [["12///Sync / EASGD", "12///SGD"], [], [], ["Sync / EASGD", "SGD"]],
    [["12/lab//SGD", "12/hpc//SGD"], ["lab", "hpc"], [], ["SGD"]],
  ])("of %j is told, and written as it was", (rows, clusters, workers, variants) => {
    const choices = choicesOf(rows);
    expect(choices).toEqual([{ experiment: "12", clusters, workers, variants }]);
    expect(rowsOf(choices)).toEqual(rows);
  });

  it("of all and of one is that of all", () => {
    expect(choicesOf(["12///SGD", "12"])).toEqual(choicesOf(["12"]));
  });

  it("has the rows that it means", () => {
    const choices = choicesOf(["12/lab//A / B", "3"]);
    const keys = ["12/lab/2/A / B", "12/hpc/2/A / B", "12/lab/2/B", "3/any/8/C", "4/any/8/C"];
    expect(keys.map((key) => hasRow(choices, key))).toEqual([true, false, false, true, false]);
  });

  it("of an experiment stays when another one joins or leaves", () => {
    const more = withExperiments(choicesOf(["12//8"]), ["3", "12"]);
    expect(rowsOf(more)).toEqual(["3", "12//8"]);
    expect(rowsOf(withExperiments(more, []))).toEqual([]);
  });
});

describe("single runs", () => {
  const one = { id: "run_21", number: 21, seed: 3, trial: null };

  it("are rows beside those of experiments", () => {
    expect(choicesOf(["12", "run_21", "12//8"])).toEqual(choicesOf(["12"]));
    expect(isRun("run_21") && !isRun("12/local/2/run_")).toBe(true);
    expect(keyOf(comparedRow(7, "a", { run: one }))).toBe("run_21");
  });

  it("are told apart by their numbers, and say their seeds", () => {
    const rows = [comparedRow(7, "a", { run: one }), comparedRow(7, "a")];
    expect(namesOf(rows)).toEqual(["a run 21", "a"]);
    expect(rows.map(placeOf)).toEqual(["local, 2 workers, seed 3", "local, 2 workers"]);
  });
});

describe("colours", () => {
  it("are those of the experiments, and of another name another one", () => {
    const color = colorsOf([
      comparedExperiment(7, { variants: ["a", "b"], colors: [3, 1] }),
      comparedExperiment(8, { variants: ["b", "c"], colors: [1, 3] }),
    ]);
    expect(["a", "b", "c"].map(color)).toEqual([3, 1, 0]);
  });
});

describe("rows", () => {
  const { rows, experiments } = comparedRows();

  it("have the shortest names that tell them apart", () => {
    expect(namesOf(rows)[3]).toBe("Sync EASGD on hpc (#8)");
    expect(namesOf(rows.slice(0, 2))).toEqual(["Original EASGD", "Sync EASGD"]);
    expect(namesOf([comparedRow(7, "a"), comparedRow(7, "a", { workers: 8 })])).toEqual([
      "a with 2",
      "a with 8",
    ]);
  });

  it("keep the colour that a variant has among all that may be chosen", () => {
    const color = colorsOf([...experiments, comparedExperiment(9, { variants: ["SGD", "Sync EASGD"] })]);
    expect(["Original EASGD", "Sync EASGD", "SGD"].map(color)).toEqual([0, 1, 2]);
  });

  it("are sorted by a figure, those without it last", () => {
    const missed = comparedRow(9, "missed", { time_to_target: null });
    const order = (down: boolean) =>
      sorted([missed, ...rows], "time", down).map((row) => row.time_to_target?.median);
    expect(order(false)).toEqual([0.5, 1.5, 2.5, 4, undefined]);
    expect(order(true)).toEqual([4, 2.5, 1.5, 0.5, undefined]);
    expect(sorted(rows, undefined, false)).toBe(rows);
  });
});

describe("the front", () => {
  const at = (seconds: number | null, accuracy: number) =>
    comparedRow(7, `${seconds} ${accuracy}`, {
      time_to_target: { mean: null, median: seconds, low: null, high: null, n: 3, reached: 3, unit: "s" },
      best_accuracy: estimate(accuracy),
    });
  const [time, best, bytes] = [figure("time"), figure("best"), figure("bytes")];

  it("are the rows that no other one beats, from left to right", () => {
    const rows = [at(3, 0.9), at(2, 0.9), at(1, 0.8), at(4, 0.95), at(5, 0.95), at(2, 0.85), at(null, 0.99)];
    const { placed, lacking } = place(rows, time, best);
    expect(front(placed, time, best).map((one) => one.at)).toEqual([2, 1, 3]);
    expect(lacking).toEqual([6]);
  });

  it("has rows that are equal both, and knows which end is better", () => {
    const rows = [at(1, 0.9), at(1, 0.9), at(2, 0.9)];
    expect(front(place(rows, time, best).placed, time, best).map((one) => one.at)).toEqual([0, 1]);
    expect(front(place(rows, time, bytes).placed, time, bytes).map((one) => one.at)).toEqual([0, 1]);
  });
});

describe("parameters as axes", () => {
  const timed = (variant: string, seconds: number | null) =>
    comparedRow(7, variant, {
      time_to_target: { mean: null, median: seconds, low: null, high: null, n: 3, reached: 3, unit: "s" },
    });
  const rows = [timed("a", 1), timed("b", 3), timed("c", 2), timed("d", null)];
  const settings = [
    { name: "/algorithm/name", differs: true, values: ["x", "y", "x", "z"] },
    { name: "/algorithm/parameters/lr", differs: true, values: [0.001, 0.1, 0.01, null] },
    { name: "/batch", differs: true, values: [32, 96, 64, 32] },
    { name: "/budget/samples", differs: true, values: [1, 1, 1, 2] }, // only that of a row without a time
    { name: "/algorithm/parameters/period", differs: true, values: [1, 8, null, 4] }, // c has none
    { name: "/virtual/latency", differs: true, values: [0, 1, 2, 3] },
    { name: "/workload/name", differs: false, values: ["digits"] },
  ];

  it("are those in which rows with a time differ, and the time", () => {
    const found = parameterAxes(comparedRows({ rows, settings }), rows);
    const names = ["algorithm", "algorithm lr", "batch", "Time to target (s)"];
    expect(found?.axes.map(({ name }) => name)).toEqual(names);
    expect(found?.lines.map(({ row }) => row.variant)).toEqual(["a", "b", "c"]);
    const places = found?.lines.map((line) => line.places.slice(0, 3));
    expect(places?.map((line) => line.map((place) => Number(place?.toFixed(6))))).toEqual([
      [0.25, 0, 0],
      [0.75, 1, 1],
      [0.25, 0.5, 0.5],
    ]);
    expect(found?.lines.every(({ values, places: all }) => values.length === all.length - 1)).toBe(true);
    const times = found?.lines.map((line) => line.places[3] ?? 0) ?? [];
    expect((times[0] ?? 0) + (times[1] ?? 0)).toBeCloseTo(2 * (times[2] ?? 0), 9);
  });

  it("make no picture of two rows, or without a difference", () => {
    expect(parameterAxes(comparedRows({ rows, settings }), rows.slice(2))).toBeUndefined();
    expect(parameterAxes(comparedRows({ rows, settings: [] }), rows)).toBeUndefined();
    expect(parameterAxes(comparedRows({ rows, settings: settings.slice(0, 1) }), rows)).toBeUndefined();
  });
});

describe("an axis", () => {
  const of = (value: number, low: number | null = null, high: number | null = null) => ({ value, low, high });

  it("holds all figures, and as much of their spreads as half of their range", () => {
    const axis = valueAxis([of(10, 9.5, 100), of(20, -50, 21)]);
    expect(axis.log).toBe(false);
    const [ten, twenty] = [axis.place(10), axis.place(20)];
    expect(twenty - ten).toBeCloseTo(10 / 24, 5); // from 5 to 25, with a tenth of that on either side
    expect([axis.place(-50), axis.place(100)]).toEqual([0, 1]);
    expect(axis.ticks).toEqual([5, 10, 15, 20, 25]);
  });

  it("is logarithmic where figures are far apart", () => {
    const axis = valueAxis([of(1), of(100), of(10)]);
    expect(axis.log).toBe(true);
    expect(axis.place(10)).toBeCloseTo(0.5, 5);
    expect(axis.place(1)).toBeCloseTo(0.1 / 1.2, 5);
    expect(axis.ticks).toContain(10);
  });

  it("has a length for one figure, and for none", () => {
    const one = valueAxis([of(0.97)]);
    expect(one.place(0.97)).toBeGreaterThan(0);
    expect(one.place(0.97)).toBeLessThan(1);
    expect(valueAxis([]).place(0.5)).toBe(0.5);
  });

  it("ends where values cannot be greater", () => {
    expect(Math.max(...valueAxis([of(0.97)]).ticks)).toBeGreaterThan(1);
    const shares = valueAxis([of(0.97), of(0.971, 0.96, 1.2)], 1);
    expect(Math.max(...shares.ticks)).toBeLessThanOrEqual(1);
    expect([shares.place(1), shares.place(0.97) < 1]).toEqual([1, true]);
    expect(valueAxis([of(1)], 1).place(1)).toBe(1);
  });
});

describe("a setting", () => {
  it("is named and written for people", () => {
    const names = ["/algorithm/parameters/moving_rate", "/algorithm/name", "/batch", "/a~1b/c"].map(
      settingName,
    );
    expect(names).toEqual(["algorithm moving rate", "algorithm", "batch", "a/b c"]);
    const values = [null, undefined, true, 1e11, 0.123_456_78, 7.2e-6, "tree", [2, 3]].map(settingValue);
    expect(values).toEqual(["–", "–", "yes", "100,000,000,000", "0.123457", "0.0000072", "tree", "[2,3]"]);
  });
});
