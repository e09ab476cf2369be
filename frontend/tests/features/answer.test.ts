import { describe, expect, it } from "vitest";
import { headlineOf, lineOf, needs } from "@/features/experiment/answer";
import { groupsOf } from "@/features/experiment/groups";
import type { ComparisonRow, Fastest, SpeedUp } from "@/lib/client/types.gen";
import { comparison, fastest, row, speedUp } from "../support/fixtures/experiment";

const line = (changes: Partial<SpeedUp>) => lineOf(row("Sync SGD", { speed_up: speedUp(changes) }));

describe("a line says of a variant", () => {
  it.each<[Partial<SpeedUp>, string]>([
    [{ claim: "baseline" }, "Baseline"],
    [{ claim: "faster", ratio: 2.71, low: 1.92, high: 3.84 }, "2.7× faster (1.9 to 3.8, 3 seeds)"],
    [{ claim: "slower", ratio: 0.5, low: 0.25, high: 0.8, pairs: 5 }, "2.0× as long (1.3 to 4.0, 5 seeds)"],
    [
      { claim: "same", ratio: 1, low: 0.97, high: 1.03 },
      "Practically the same: 1.0× (0.97 to 1.03, 3 seeds)",
    ],
    [{ claim: "not shown", ratio: 1.4, low: 0.14, high: 15 }, "Inconclusive: 1.4× (0.14 to 15, 3 seeds)"],
    [{ claim: "not shown", ratio: 1.0003, low: 0.8, high: 1.3 }, "Inconclusive: 1.0× (0.80 to 1.3, 3 seeds)"],
    [
      { claim: "not shown", ratio: 1.4, low: 1.1, high: 1.8, comparisons: 4 },
      "Inconclusive after correction for 4 comparisons: 1.4× (1.1 to 1.8, 3 seeds)",
    ],
    [
      { claim: "at least", ratio: null, low: 3.1, high: null, censored: 2 },
      "At least 3.1× faster (3 seeds, 2 without the target)",
    ],
    [
      { claim: "at most", ratio: null, low: null, high: 0.25, censored: 1 },
      "At least 4.0× as long (3 seeds, 1 without the target)",
    ],
    [
      {
        claim: "no claim",
        pairs: 0,
        sentence: "No claim on Sync SGD: 0 pairs of finished seeds, but 3 are needed.",
      },
      "Needs 3 finished seed pairs; has 0",
    ],
    [
      {
        claim: "no claim",
        pairs: 5,
        sentence: "No claim on Sync SGD: unequal tuning: 4 trials, but 8 of SGD.",
      },
      "Unequal tuning: 4 trials, but 8 of SGD",
    ],
    [
      {
        claim: "no claim",
        pairs: 5,
        sentence:
          "No claim on Sync SGD: the setting chosen for SGD diverged with 4 of 5 seeds, which 1 tuning seed did not show: tune with more seeds.",
      },
      "The setting chosen for SGD diverged with 4 of 5 seeds, which 1 tuning seed did not show: tune with more seeds",
    ],
    [
      {
        claim: "no claim",
        pairs: 0,
        sentence:
          "No target was set, so there is no time to it. Against SGD: Sync SGD final accuracy +1.2 points (n=5).",
      },
      "Final accuracy +1.2 points (n=5)",
    ],
  ])("%o", (changes, said) => {
    expect(line(changes)).toBe(said);
  });
});

/** The interval of a row, which its place's answer has, too, where there are few variants. */
function ends(rows: ComparisonRow[], variant: string) {
  const found = rows.find((one) => one.variant === variant)?.speed_up;
  return { low: found?.low ?? null, high: found?.high ?? null };
}

function headline(
  rows: ComparisonRow[],
  named?: Partial<Fastest> & Pick<Fastest, "variant" | "unseparated">,
  target: string | null = "97%",
  complete = rows.every(({ finished, failed, runs }) => finished + failed === runs),
) {
  const found = comparison({
    rows,
    complete,
    target,
    baseline: "SGD",
    fastest: named ? [fastest({ ...ends(rows, named.variant), ...named })] : [],
  });
  const [group] = groupsOf(found);
  if (!group) throw new Error("no group");
  return headlineOf(group, found);
}
const BASE = row("SGD", { speed_up: speedUp({ claim: "baseline", ratio: 1, low: null, high: null }) });
const QUICK = row("Sync SGD", { speed_up: speedUp({ ratio: 2.7, low: 1.9, high: 3.8 }) });

describe("the headline", () => {
  it("names the fastest, by how much, and from whom it is not separated", () => {
    expect(headline([BASE, QUICK], { variant: "Sync SGD", unseparated: ["overlapped EASGD"] })).toBe(
      "Fastest on local: Sync SGD, 2.7× (1.9 to 3.8), not separated from overlapped EASGD",
    );
    expect(headline([BASE, QUICK], { variant: "Sync SGD", unseparated: ["A", "B", "C"] })).toMatch(
      /not separated from A, B and C$/,
    );
  });

  it("says of whom nothing is claimed, once all runs have ended", () => {
    const silent = (name: string) => row(name, { speed_up: speedUp({ claim: "no claim" }) });
    const said = "Fastest on local: Sync SGD, 2.7× (1.9 to 3.8), no claim on";
    const best = { variant: "Sync SGD", unseparated: [] };
    expect(headline([BASE, QUICK, silent("A"), silent("B")], best)).toBe(`${said} A and B`);
    expect(headline([BASE, QUICK, ...["A", "B", "C"].map(silent)], best)).toBe(`${said} 3 others`);
    const going = { ...silent("A"), finished: 1 };
    expect(headline([BASE, QUICK, going], best)).not.toContain("no claim");
    expect(headline([BASE, QUICK, going], best, "97%", true)).toBe(`${said} A`); // its other runs were cancelled
  });

  it("says so far while runs go on", () => {
    const going = { ...QUICK, finished: 2 };
    expect(headline([BASE, going], { variant: "Sync SGD", unseparated: [] })).toBe(
      "Fastest so far on local: Sync SGD, 2.7× (1.9 to 3.8)",
    );
  });

  it("may name the baseline, or a bound", () => {
    expect(headline([BASE, QUICK], { variant: "SGD", unseparated: [] })).toBe(
      "Fastest on local: SGD, the baseline",
    );
    const bound = row("Sync SGD", {
      speed_up: speedUp({ claim: "at least", ratio: null, low: 3, high: null }),
    });
    expect(headline([BASE, bound], { variant: "Sync SGD", unseparated: [] })).toBe(
      "Fastest on local: Sync SGD, at least 3.0×",
    );
  });

  it("is inconclusive where the fastest is not shown to be faster", () => {
    const open = row("Sync SGD", {
      speed_up: speedUp({ claim: "not shown", ratio: 1.4, low: 0.14, high: 15 }),
    });
    expect(headline([BASE, open], { variant: "Sync SGD", unseparated: ["SGD"] })).toBe(
      "Inconclusive on local: Sync SGD 1.4× (0.14 to 15, 3 seeds)",
    );
  });

  it("has a wider interval for the best of many, and says so", () => {
    const best = { variant: "Sync SGD", unseparated: [], among: 7, low: 1.2, high: 6 };
    expect(headline([BASE, QUICK], best)).toBe(
      "Fastest on local: Sync SGD, 2.7× (1.2 to 6.0, as the best of 7)",
    );
    const bound = row("Sync SGD", {
      speed_up: speedUp({ claim: "at least", ratio: null, low: 3, high: null }),
    });
    expect(headline([BASE, bound], { ...best, low: 1.4, high: null })).toBe(
      "Fastest on local: Sync SGD, at least 1.4× (as the best of 7)",
    );
    const open = row("Sync SGD", {
      speed_up: speedUp({ claim: "not shown", ratio: 1.4, low: 0.9, high: 2 }),
    });
    expect(headline([BASE, open], { ...best, low: 0.4, high: 5 })).toBe(
      "Inconclusive on local: Sync SGD 1.4× (0.40 to 5.0, as the best of 7, 3 seeds)",
    );
    expect(headline([BASE, QUICK], { ...best, among: 3, low: 1.9, high: 3.8 })).toBe(
      "Fastest on local: Sync SGD, 2.7× (1.9 to 3.8)",
    );
  });

  it("says what is missing", () => {
    const few = row("Sync SGD", { speed_up: speedUp({ claim: "no claim", pairs: 1 }) });
    expect(headline([BASE, few])).toBe(needs(1));
    expect(headline([few])).toBe("No verdict: SGD, the baseline, did not run here");
    expect(headline([BASE])).toBe("No verdict: nothing to compare with SGD");
    expect(headline([BASE, QUICK], undefined, null)).toBe("No target: final figures against SGD");
  });
});
