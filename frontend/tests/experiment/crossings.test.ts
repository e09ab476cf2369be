import { expect, it } from "vitest";
import { crossingsOf } from "@/features/experiment/crossings";
import { variantStyle } from "@/lib/theme/palette";
import { band, experiment } from "../support/fixtures/experiment";
import { runSummary } from "../support/fixtures/run";

const SEEDED = [
  { band: band("Original EASGD", { runs: ["run_1"] }), seeds: [] },
  { band: band("Sync EASGD", { runs: ["run_2", "run_3"] }), seeds: [] },
];
const RUNS = [
  runSummary(1, { variant: "Original EASGD", time_to_target: 9 }),
  runSummary(2, { variant: "Sync EASGD", time_to_target: 4 }),
  runSummary(3, { variant: "Sync EASGD" }), // it missed the target
  runSummary(4, { variant: "Sync EASGD", time_to_target: 1 }), // of another cluster
];
const found = (...hidden: number[]) => crossingsOf(experiment(), SEEDED, RUNS, new Set(hidden));

it("each drawn run that met the target has a dot in the colour of its variant", () => {
  expect(found()).toEqual([
    { x: 9, style: variantStyle(0) },
    { x: 4, style: variantStyle(1) },
  ]);
});

it("those of a variant that is switched off have none", () => {
  expect(found(1).map(({ x }) => x)).toEqual([9]);
  expect(found(0, 1)).toEqual([]);
});
