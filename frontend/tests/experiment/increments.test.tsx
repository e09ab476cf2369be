import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { bandsKey } from "@/features/experiment/use-experiment";
import { seedsKey } from "@/features/experiment/use-seeds";
import type { SeriesAnswer, SeriesQuery } from "@/lib/client/types.gen";
import { runSummary } from "../support/fixtures/run";
import { apiServer } from "../support/server";
import { answerExperiment, bands, openExperiment } from "./page";

const server = apiServer();
beforeEach(() => answerExperiment(server));

const points = (id: string, accuracy: number) => ({
  id,
  experiment_id: "exp_7",
  samples: 1,
  accuracy,
  loss: 1,
  clock: 1,
});

it("fetches only the rows of runs that have taken steps", async () => {
  const [one, two] = [runSummary(21), runSummary(22)];
  server.on("GET /runs", ({ query }) => {
    const named = query.getAll("run");
    const now = named.length > 0 ? [{ ...two, accuracy: 0.123 }] : [one, two];
    return { items: now, next_cursor: null };
  });
  const { live } = await openExperiment(server);
  await live();
  server.asked.length = 0;
  server.send("points", points(two.id, 0.5), 5);
  await waitFor(() => expect(within(screen.getByTestId("runs-table")).getByText("12.30%")).toBeVisible());
  const asked = server.askedFor("GET /runs").map(({ query }) => query.getAll("run"));
  expect(asked).toEqual([[two.id]]);
  expect(screen.getAllByTestId("run-row")).toHaveLength(2);
});

it("fetches of the seeds only what follows the points that it has", async () => {
  const runs = ["run_1", "run_2"];
  const whole = { x: [1, 2], y: [0.1, 0.2], n: 2, of: 2, kept_before: 0 };
  const metric = "validation_accuracy";
  server.on("GET /experiments/*/bands", () => {
    const { bands: all, ...rest } = bands();
    const own = all.filter((band) => band.metric === metric && band.cluster === "local").slice(0, 1);
    return { ...rest, bands: own.map((band) => ({ ...band, runs })) };
  });
  server.on("POST /series", ({ body }) => {
    const { axis, marks } = body as { axis: "clock"; marks?: string[] };
    const part = { ...whole, x: [3], y: [0.3], n: 3, of: 3, kept_before: 2, mark: "m3" };
    const series = marks
      ? [
          { run: "run_1", metric, ...part },
          { run: "run_2", metric, ...whole, x: [], y: [], kept_before: 2, mark: "m2" },
        ]
      : runs.map((run) => ({ run, metric, ...whole, mark: `m-${run}` }));
    return { axis, unit: "s", series };
  });
  const { queries } = await openExperiment(server, "/experiments/exp_7?seeds=each");
  const drawn = () => Number(screen.getByTestId("chart-validation_accuracy").getAttribute("data-points"));
  await waitFor(() => expect(drawn()).toBe(4));
  void queries.invalidateQueries({ queryKey: ["seeds", "exp_7"] });
  await waitFor(() => expect(drawn()).toBe(5));
  const marks = server.askedFor("POST /series").map(({ body }) => (body as { marks?: string[] }).marks);
  expect(marks).toEqual([undefined, ["m-run_1", "m-run_2"]]);
});

it("reads only the seeds of a run that begins, and keeps those of the others once", async () => {
  const metric = "validation_accuracy";
  let begun = ["run_1"];
  server.on("GET /experiments/*/bands", () => {
    const { bands: all, ...rest } = bands();
    const own = all.filter((band) => band.metric === metric && band.cluster === "local").slice(0, 1);
    return { ...rest, version: begun.join(), bands: own.map((band) => ({ ...band, runs: begun })) };
  });
  server.on("POST /series", ({ body }) => {
    const { runs, marks } = body as SeriesQuery;
    const whole = { x: [1, 2], y: [0.1, 0.2], kept_before: 0 };
    const kept = { x: [], y: [], kept_before: 2 };
    const series = runs.map((run, i) => {
      return { run, metric, n: 2, of: 2, mark: run, ...(marks?.[i] ? kept : whole) };
    });
    return { axis: "clock", unit: "s", series };
  });
  const { queries } = await openExperiment(server, "/experiments/exp_7?seeds=each");
  const drawn = () => Number(screen.getByTestId("chart-validation_accuracy").getAttribute("data-points"));
  await waitFor(() => expect(drawn()).toBe(2));
  begun = ["run_1", "run_2"];
  void queries.invalidateQueries({ queryKey: bandsKey("exp_7") });
  await waitFor(() => expect(drawn()).toBe(4));
  expect(server.askedFor("POST /series").map(({ body }) => (body as SeriesQuery).marks)).toEqual([
    undefined,
    ["run_1", ""],
  ]);
  const answers = queries.getQueriesData<SeriesAnswer>({ queryKey: seedsKey("exp_7") });
  const first = answers.flatMap(([, answer]) => answer?.series.filter(({ run }) => run === "run_1") ?? []);
  expect(first).toHaveLength(2);
  expect(first[0]?.x).toBe(first[1]?.x);
});
