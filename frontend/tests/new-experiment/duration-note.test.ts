import { expect, it } from "vitest";
import { durationWords, roughly, wholeDuration } from "@/features/new-experiment/duration-note";
import type { DurationView } from "@/lib/client/types.gen";
import { PLAN } from "../support/fixtures/catalogue";

const KNOWN: DurationView = {
  cluster: "local",
  host: "local",
  runs: 15,
  unlike: 0,
  seconds: 725,
  least: 540,
  most: 960,
  likeness: "8 runs of the same workload",
};
const UNKNOWN = { ...KNOWN, unlike: 15, seconds: null, least: null, most: null, likeness: null };

it("a duration is predicted with its interval, or it is said why not", () => {
  expect(durationWords(KNOWN)).toBe("about 12 min for 15 runs (9 min to 16 min)");
  expect(durationWords(UNKNOWN)).toBe("no prediction: no similar run yet");
  expect(durationWords({ ...UNKNOWN, unlike: 3 })).toBe("no prediction: no similar run for 3 of 15 runs yet");
  expect(durationWords({ ...UNKNOWN, unlike: 0 })).toBe("more than ten years");
});

it.each([
  [0.04, "40 ms"],
  [44.6, "45 s"],
  [118, "2 min"],
  [3599, "1 h 00 min"],
  [11_100, "3 h 05 min"],
])("%d s are roughly %s", (seconds, words) => {
  expect(roughly(seconds)).toBe(words);
});

it("hosts compute beside one another, clusters of one after one another, and nothing is said while one is unknown", () => {
  const plan = (durations: DurationView[]) => wholeDuration({ ...PLAN, durations });
  expect(plan([KNOWN, { ...KNOWN, cluster: "rack", host: "rack", seconds: 7200 }])).toBe("about 2 h 00 min");
  expect(plan([KNOWN, { ...KNOWN, cluster: "10gbe" }])).toBe("about 24 min");
  expect(plan([KNOWN, UNKNOWN])).toBeUndefined();
});
