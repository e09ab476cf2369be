import { describe, expect, it } from "vitest";
import { seedsKey, seedsOf } from "@/features/experiment/use-seeds";
import type { SeriesAnswer } from "@/lib/client/types.gen";
import { band } from "../support/fixtures/experiment";
import { series } from "../support/fixtures/run";

const ANSWER: SeriesAnswer = {
  axis: "clock",
  unit: "s",
  series: [
    series("validation_accuracy", { run: "run_1" }),
    series("validation_accuracy", { run: "run_2", x: [], y: [] }),
    series("validation_loss", { run: "run_1" }),
    series("validation_accuracy", { run: "run_9" }),
    series("validation_accuracy", { run: "run_3" }),
  ],
};
const SEEDS = new Map([["run_1", 7]]);

describe("the seeds behind a band", () => {
  it("are its own runs in its own metric, as far as they have points", () => {
    const found = seedsOf(band("A"), ANSWER, "clock", SEEDS);
    expect(found.map(({ run, seed }) => [run, seed])).toEqual([
      ["run_1", 7],
      ["run_3", undefined],
    ]);
    expect(found[0]?.x).toBe(ANSWER.series[0]?.x); // the same array, so that nothing is drawn again
  });

  it("are unknown while the answer is another axis's, or none has come", () => {
    expect(seedsOf(band("A"), ANSWER, "samples", SEEDS)).toEqual([]);
    expect(seedsOf(band("A"), undefined, "clock", SEEDS)).toEqual([]);
  });

  it("are fetched anew by experiment", () => {
    expect(seedsKey("exp_1")).not.toEqual(seedsKey("exp_2"));
  });
});
