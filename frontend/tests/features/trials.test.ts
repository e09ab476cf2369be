import { describe, expect, it } from "vitest";
import {
  byRank,
  formatFigure,
  ladderWords,
  measureTitle,
  outcomeOf,
  progressOf,
  trialWords,
  widerOf,
} from "@/features/experiment/trials";
import { search, TRIALS, trial, tuning } from "../support/fixtures/tuning";

const missed = { seconds: null } as const;
const open = { seconds: null, accuracy: null, rank: null, open: 1 } as const;
const failed = { seconds: null, accuracy: null, failed: 1 } as const;

describe("a trial", () => {
  it.each([
    ["that met the target", {}, "met", "met"],
    ["that missed it", missed, "missed", "met"],
    ["that has not ended", open, "open", "open"],
    ["that failed", failed, "failed", "failed"],
    ["that has no runs yet", { ...open, open: 0, runs: [] }, "open", "open"],
    ["of which one seed failed", { seconds: null, failed: 1 }, "failed", "met"],
  ])("%s is called so, with a target and without", (_, changes, seconds, accuracy) => {
    expect(outcomeOf(trial(1, changes), "seconds")).toBe(seconds);
    expect(outcomeOf(trial(1, changes), "accuracy")).toBe(accuracy);
  });

  it.each([
    ["seconds", {}, "Trial 2, rank 2: lr 0.01, momentum 0.2, kind nesterov; 2 s"],
    ["seconds", missed, "Trial 2, rank 2: lr 0.01, momentum 0.2, kind nesterov; missed the target"],
    ["accuracy", missed, "Trial 2, rank 2: lr 0.01, momentum 0.2, kind nesterov; 97.00%"],
    ["seconds", open, "Trial 2: lr 0.01, momentum 0.2, kind nesterov; has not ended"],
    ["accuracy", failed, "Trial 2, rank 2: lr 0.01, momentum 0.2, kind nesterov; failed"],
  ] as const)("is told in words by its %s", (measure, changes, words) => {
    expect(trialWords(trial(2, changes), measure)).toBe(words);
  });
});

it("trials stand by rank, those without a result last", () => {
  const shuffled = [...TRIALS].reverse();
  expect(byRank(shuffled).map((one) => one.trial)).toEqual([6, 2, 1, 4, 3, 5, 8, 7]);
  const going = [trial(1, open), trial(2), trial(3, open), trial(4, { rank: 1 })];
  expect(byRank(going).map((one) => one.trial)).toEqual([4, 2, 1, 3]);
  expect(shuffled[0]).toBe(TRIALS[7]); // the given list keeps its order
});

it("figures are seconds, virtual ones called so, or accuracies", () => {
  expect(formatFigure(2.5, "seconds")).toBe("2.5 s");
  expect(formatFigure(0.925, "accuracy")).toBe("92.50%");
  expect(formatFigure(null, "accuracy")).toBe("–");
  expect(measureTitle("seconds", true)).toBe("Time to target (virtual s)");
  expect(measureTitle("seconds", false)).toBe("Time to target (s)");
  expect(measureTitle("accuracy", true)).toBe("Validation accuracy");
});

it("a wider space of several places has all that they widen: an interval, or choices", () => {
  const at = (low: number, high: number, choices: number[]) =>
    search({ variant: "a", wider: { lr: { low, high }, rank: { choices } } });
  const found = widerOf([at(0.01, 1, [1, 2, 4]), at(0.001, 0.1, [2, 4, 8])]);
  expect(found).toEqual([
    { variant: "a", spaces: { lr: { low: 0.001, high: 1 }, rank: { choices: [1, 2, 4, 8] } } },
  ]);
});

describe("progress", () => {
  it("counts the runs of all searches, of which trials may need less", () => {
    expect(progressOf(tuning())).toEqual({ ended: 27, most: 36, rung: 2 });
  });

  it("is on the first rung that a search is on", () => {
    const first = search({ ended: false, trials: [trial(1, open), trial(2, open)] });
    const second = search({
      ended: false,
      trials: [trial(1), trial(2, { ...open, rung: 1, runs: ["a", "b"] })],
    });
    expect(progressOf(tuning({ searches: [second], complete: false }))).toEqual({
      ended: 2,
      most: 4,
      rung: 2,
    });
    expect(progressOf(tuning({ searches: [first, second], complete: false }))).toMatchObject({ rung: 1 });
  });

  it("counts every tuning seed", () => {
    expect(progressOf(tuning({ seeds: [7, 8] })).most).toBe(72);
  });
});

it.each([
  [{}, "8 trials with 60,000 samples, then the best 4 with 120,000"],
  [{ rungs: [{ trials: 12, samples: 5000 }] }, "12 trials with 5,000 samples"],
  [{ rungs: [{ trials: 12, samples: 5000 }], seeds: [7, 8] }, "12 trials with 5,000 samples, 2 seeds each"],
  [{ rungs: [] }, ""],
])("the rungs of %o are told in words", (changes, words) => {
  expect(ladderWords(tuning(changes))).toBe(words);
});
