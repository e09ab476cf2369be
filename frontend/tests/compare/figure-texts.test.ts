/** Figures and names of compared rows where something is absent, equal or out of the ordinary. */
import { describe, expect, it } from "vitest";
import { axisTitle, figure, sorted } from "@/features/compare/figures";
import { groupsOf, namesOf, placeOf, taskOf } from "@/features/compare/names";
import { compareSearch } from "@/features/compare/search";
import { choicesOf, isOf, keyOf, rowsOf } from "@/features/compare/selection";
import { comparedExperiment, comparedRow, comparedRows } from "../support/fixtures/compare";

const none = { mean: null, low: null, high: null, n: 0, unit: "" as const };

describe("a figure", () => {
  it("is absent, and not zero, where no seed has it", () => {
    const row = comparedRow(7, "a", { best_accuracy: none, wire: none, time_to_target: null });
    for (const key of ["best", "bytes", "time"] as const) expect(figure(key).of(row)).toBeNull();
    expect(figure("best").format(null)).toBe("–");
  });

  it("is shown when it is zero", () => {
    const row = comparedRow(7, "alone", { communication_fraction: { ...none, mean: 0, n: 1 } });
    expect(figure("exposed").of(row)).toEqual({ value: 0, low: null, high: null });
  });

  it("has no time when too few seeds met the target for a median, whatever their mean", () => {
    const time = { mean: 2, median: null, low: 2, high: 2, n: 3, reached: 1, unit: "s" as const };
    expect(figure("time").of(comparedRow(7, "a", { time_to_target: time }))).toBeNull();
  });

  it("calls virtual seconds so, and only seconds", () => {
    expect(axisTitle(figure("time"), true)).toBe("Time to target (virtual s)");
    expect(axisTitle(figure("time"), false)).toBe("Time to target (s)");
    expect(axisTitle(figure("bytes"), true)).toBe("Bytes sent");
  });

  it("leaves rows with equal values in the order of the list, either way", () => {
    const rows = ["c", "a", "b"].map((name) => comparedRow(7, name));
    for (const down of [false, true]) {
      expect(sorted(rows, "bytes", down).map(({ variant }) => variant)).toEqual(["c", "a", "b"]);
    }
  });
});

describe("a row", () => {
  it("has one worker, or several", () => {
    expect(placeOf(comparedRow(7, "a", { cluster: "lab", workers: 1 }))).toBe("lab, 1 worker");
    expect(placeOf(comparedRow(7, "a", { cluster: "lab", workers: 8 }))).toBe("lab, 8 workers");
  });

  it("alone is called by its variant, however long that is", () => {
    const long = "Sync EASGD with a very long name ".repeat(8).trim();
    expect(namesOf([comparedRow(7, long)])).toEqual([long]);
    expect(namesOf([])).toEqual([]);
  });

  it("can be chosen by the text that names it, with a slash in its variant", () => {
    const row = comparedRow(12, "top-k 1/16", { cluster: "lab", workers: 8 });
    const [choice] = choicesOf([keyOf(row)]);
    expect(choice).toEqual({ experiment: "12", clusters: ["lab"], workers: ["8"], variants: ["top-k 1/16"] });
    expect(rowsOf(choice ? [choice] : [])).toEqual([keyOf(row)]);
  });

  it("shares a chart with rows of its own task, measured or simulated as it is", () => {
    const rows = [
      comparedRow(7, "a"),
      comparedRow(7, "b", { simulated: true }),
      comparedRow(8, "c", { task: 1 }),
      comparedRow(9, "d"),
    ];
    const groups = groupsOf(rows).map(([, group]) => group);
    expect(groups.map((group) => group.map(({ variant }) => variant))).toEqual([["a", "d"], ["b"], ["c"]]);
    const compared = comparedRows({ rows, tasks: ["digits", "letters"] });
    expect(groups.map((group) => taskOf(compared, group))).toEqual([
      "digits",
      "digits, simulated",
      "letters",
    ]);
  });
});

describe("an experiment", () => {
  it("is found by its number and by its id, but not by a part of either", () => {
    const [byNumber, byId, other] = choicesOf(["12", "exp_12", "1"]);
    const experiment = comparedExperiment(12);
    expect([byNumber, byId, other].map((choice) => choice && isOf(choice, experiment))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("has every combination of what is chosen of it", () => {
    const choice = { experiment: "7", clusters: ["lab", "hpc"], workers: ["2", "8"], variants: [] };
    expect(rowsOf([choice])).toEqual(["7/lab/2", "7/lab/8", "7/hpc/2", "7/hpc/8"]);
  });
});

describe("an address that somebody typed", () => {
  it.each(["", "-", "--time", "Time", "time ", 3, null, ["time"]])("is not sorted by %j", (sort) => {
    expect(compareSearch({ sort }).sort).toBeUndefined();
  });

  it("chooses nothing with an empty list or an empty text", () => {
    expect(compareSearch({ rows: [] }).rows).toBeUndefined();
    expect(compareSearch({ rows: "" }).rows).toBeUndefined();
    expect(compareSearch({ against: "" }).against).toBeUndefined();
  });
});
