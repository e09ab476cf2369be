import { describe, expect, it } from "vitest";
import { bandsOf, chosenGroup, groupsOf } from "@/features/experiment/groups";
import { experimentSearch, hiddenVariants, toggled } from "@/features/experiment/search";
import { newExperimentSearch } from "@/features/new-experiment/search";
import { runSearch } from "@/features/run/search";
import type { Band, Comparison, ComparisonRow } from "@/lib/client/types.gen";

function row(variant: string, cluster: string, workers: number, simulated = false): ComparisonRow {
  return { variant, cluster, workers, simulated, oversubscribed: false } as ComparisonRow;
}

const COMPARISON = {
  rows: [row("SGD", "local", 1), row("A", "local", 2), row("B", "local", 2), row("A", "net", 8, true)],
  sentences: ["one", "two", "three"],
} as Comparison;

describe("groups", () => {
  const groups = groupsOf(COMPARISON);

  it("never hold two clusters, and take their sentence by order", () => {
    expect(groups.map((group) => [group.cluster, group.workers, group.sentence])).toEqual([
      ["local", 1, "one"],
      ["local", 2, "two"],
      ["net", 8, "three"],
    ]);
    expect(groups[2]?.simulated).toBe(true);
  });

  it("are chosen by the URL, else by how much there is to compare", () => {
    expect(chosenGroup(groups)?.workers).toBe(2);
    expect(chosenGroup(groups, "net", 8)?.cluster).toBe("net");
    expect(chosenGroup(groups, "net", 3)?.cluster).toBe("net");
    expect(chosenGroup(groups, "gone", 8)?.cluster).toBe("local");
    expect(chosenGroup([])).toBeUndefined();
  });

  it("draw a method that has but one worker beside the others of its cluster", () => {
    const band = (variant: string, cluster: string, workers: number) =>
      ({ variant, cluster, workers }) as Band;
    const bands = [
      band("SGD", "local", 1),
      band("A", "local", 2),
      band("A", "local", 1),
      band("A", "net", 8),
    ];
    const group = groups[1];
    expect(group && bandsOf(bands, group).map((one) => [one.variant, one.workers])).toEqual([
      ["SGD", 1],
      ["A", 2],
    ]);
  });
});

describe("the URL", () => {
  it("holds the view, and nonsense in it is dropped", () => {
    expect(experimentSearch({ axis: "samples", cluster: "net", workers: 8, hide: "0_2" })).toMatchObject({
      axis: "samples",
      cluster: "net",
      workers: 8,
      hide: "0_2",
    });
    expect(
      Object.values(experimentSearch({ axis: "moons", workers: -1, hide: {}, tab: 4 })).filter(Boolean),
    ).toEqual([]);
    expect(experimentSearch({ hide: 3 }).hide).toBe("3");
    expect(experimentSearch({ by: "lr", runs: "trials" })).toMatchObject({ by: "lr", runs: "trials" });
    expect(experimentSearch({ by: 3, runs: "some" })).toMatchObject({ by: undefined, runs: undefined });
    expect(runSearch({ axis: "clock", rank: -1 })).toEqual({ axis: undefined, rank: -1 });
    expect(runSearch({ rank: 1.5 }).rank).toBeUndefined();
    expect(runSearch({ x: "1.5_3" }).x).toBe("1.5_3");
    expect([runSearch({ x: "3_1" }).x, runSearch({ x: 3 }).x]).toEqual([undefined, undefined]);
    expect(experimentSearch({ seeds: "each" }).seeds).toBe("each");
    expect(experimentSearch({ seeds: "some" }).seeds).toBeUndefined();
    expect([experimentSearch({ smooth: "yes" }).smooth, experimentSearch({ smooth: true }).smooth]).toEqual([
      4,
      undefined,
    ]);
    expect(newExperimentSearch({ algorithm: "sync-easgd" }).algorithm).toBe("sync-easgd");
    expect(newExperimentSearch({ algorithm: "" }).algorithm).toBeUndefined();
    expect(newExperimentSearch({ clone: "exp_1", example: "yes" })).toEqual({
      clone: "exp_1",
      example: undefined,
    });
  });

  it("switches variants on and off", () => {
    expect([...hiddenVariants("0_2")]).toEqual([0, 2]);
    expect(toggled(hiddenVariants("0_2"), 1)).toBe("0_1_2");
    expect(toggled(hiddenVariants("2"), 2)).toBeUndefined();
    expect(hiddenVariants(undefined).size).toBe(0);
  });
});
