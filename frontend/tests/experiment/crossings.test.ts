import { expect, it } from "vitest";
import { crossingsOf } from "@/features/experiment/crossings";
import { metAt } from "@/lib/charts/met-at";
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
const found = (...hidden: number[]) => crossingsOf(experiment(), SEEDED, RUNS, new Set(hidden), "clock");

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

it("on another axis it is the first evaluation that meets the target, of the seeds that are known", () => {
  const target = { value: 0.5 };
  const seed = { run: "run_1", seed: 0, x: [100, 200, 300], y: [null, 0.6, 0.7] };
  const seeded = [{ band: band("Original EASGD", { runs: ["run_1", "run_2"] }), seeds: [seed] }];
  const { spec, ...rest } = experiment();
  const over = (axis: "samples" | "clock", changes = {}) =>
    crossingsOf(
      { ...rest, spec: { ...spec, target: { ...target, ...changes } } },
      seeded,
      RUNS,
      new Set(),
      axis,
    );
  expect(over("samples").map(({ x }) => x)).toEqual([200]);
  expect(over("clock").map(({ x }) => x)).toEqual([9, 4]);
  expect(over("samples", { metric: "validation_loss" })).toEqual([]); // its curves are others
});

it("a loss is met from above, and a gap meets nothing", () => {
  expect(metAt({ value: 0.2, metric: "validation_loss" }, [1, 2, 3, 4], [0.9, Number.NaN, 0.2, 0.1])).toBe(3);
  expect(metAt({ value: 0.2, metric: "validation_loss" }, [1], [0.3])).toBeUndefined();
});
