import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { scalingOf } from "@/features/experiment/scaling";
import type { RunSummary } from "@/lib/client/types.gen";
import { experiment } from "../support/fixtures/experiment";
import { runSummary } from "../support/fixtures/run";
import { apiServer } from "../support/server";
import { answerExperiment, openExperiment } from "./page";

const server = apiServer();
let number = 0;
const run = (
  variant: string,
  workers: number,
  seed: number,
  seconds: number | null,
  more = {},
): RunSummary => {
  number += 1;
  return runSummary(number, { variant, workers, seed, time_to_target: seconds, ...more });
};
const RUNS = [
  run("A", 2, 0, 8),
  run("A", 2, 1, 8),
  run("A", 2, 2, 5),
  run("A", 4, 0, 4), // 2 times as fast
  run("A", 4, 1, 1), // 8 times
  run("A", 4, 2, null), // missed: counts to none
  run("A", 16, 0, 0.5),
  run("One", 1, 0, 9), // of one worker alone
  run("B", 4, 0, 3),
  run("B", 16, 0, 2), // nothing with the fewest workers
];

describe("scaling", () => {
  it("is the geometric mean of ratios of the same seed, over the fewest workers of what has several", () => {
    const [found, ...others] = scalingOf(RUNS, ["One", "A", "B"]);
    expect(others).toEqual([]);
    expect(found).toMatchObject({ cluster: "local", simulated: false, base: 2, workers: [2, 4, 16] });
    expect(found?.rows.map(({ variant }) => variant)).toEqual(["A"]);
    const [base, four, sixteen] = found?.rows[0]?.points ?? [];
    expect(base).toMatchObject({ workers: 2, ratio: 1, low: 1, high: 1, seeds: 3, efficiency: 1 });
    expect(four).toMatchObject({ low: null, high: null });
    expect(four?.ratio).toBeCloseTo(4, 12); // of 2 and 8
    expect(four).toMatchObject({ workers: 4, least: 2, greatest: 8, seeds: 2 });
    expect(four?.efficiency).toBeCloseTo(2, 12);
    expect(sixteen).toMatchObject({ seeds: 1, least: 16, greatest: 16 });
    expect(sixteen?.efficiency).toBeCloseTo(2, 12);
  });

  it("keeps clusters apart, and is nothing with one number of workers", () => {
    const other = [run("A", 2, 0, 8, { cluster: "net" }), run("A", 4, 0, 4, { cluster: "net" })];
    expect(scalingOf([...RUNS, ...other], ["A"]).map(({ cluster }) => cluster)).toEqual(["local", "net"]);
    expect(scalingOf(RUNS.slice(0, 3), ["A"])).toEqual([]);
    expect(scalingOf([], ["A"])).toEqual([]);
  });
});

describe("the page of an experiment", () => {
  const { spec } = experiment();
  const several = { ...spec, clusters: [{ name: "local", workers: [2, 4, 16] }] };

  it("draws it where several numbers of workers were asked for", async () => {
    answerExperiment(server);
    server.on("GET /experiments/*", experiment({ spec: several, variants: ["A", "B"] }));
    server.on("GET /runs", { items: RUNS, next_cursor: null });
    await openExperiment(server);
    const row = within(await screen.findByTestId("scaling-row"));
    expect(row.getByText("16.0×")).toBeVisible();
    expect(row.getAllByText("200%")).toHaveLength(2);
    for (const chart of ["scaling-chart", "efficiency-chart"])
      expect(screen.getByTestId(chart)).toHaveAttribute("data-points", "6"); // ideal, and A
  });

  it("says that nothing is known yet, and leaves it out of others", async () => {
    answerExperiment(server);
    server.on("GET /experiments/*", experiment({ spec: several }));
    await openExperiment(server);
    expect(screen.getByTestId("scaling")).toHaveTextContent("No seed has met the target with two numbers");
  });

  it("has none where one number of workers was asked for", async () => {
    answerExperiment(server);
    await openExperiment(server);
    expect(screen.queryByTestId("scaling")).toBeNull();
  });
});

it("counts all runs, page after page, and says so until they are there", async () => {
  answerExperiment(server);
  const base = experiment();
  const [cluster] = base.spec.clusters;
  server.on("GET /experiments/*", {
    ...base,
    spec: { ...base.spec, clusters: [{ ...cluster, name: "local", workers: [2, 4] }] },
  });
  const variant = base.variants[0] as string;
  let release = () => {};
  const held = new Promise<void>((done) => {
    release = done;
  });
  server.on("GET /runs", async ({ query }) => {
    if (!query.get("cursor")) return { items: [run(variant, 2, 0, 8)], next_cursor: "next" };
    await held;
    return { items: [run(variant, 4, 0, 2)], next_cursor: null };
  });
  await openExperiment(server);
  expect(await screen.findByTestId("scaling-partial")).toHaveTextContent("Of the first 1 runs");
  release();
  expect(await within(screen.getByTestId("scaling")).findByText("4.00×")).toBeVisible();
  expect(screen.queryByTestId("scaling-partial")).toBeNull();
});
