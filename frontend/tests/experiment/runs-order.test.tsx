import { screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { inOrder, runsOrderIn } from "@/features/experiment/runs-order";
import type { RunSummary } from "@/lib/client/types.gen";
import { sheetOf } from "@/lib/export/sheet";
import { runSummary } from "../support/fixtures/run";
import { apiServer } from "../support/server";
import { answerExperiment, openExperiment } from "./page";

const server = apiServer();
const RUNS = [
  runSummary(21, { variant: "B", cluster: "net10", seed: 2, time_to_target: 3, state: "succeeded" }),
  runSummary(22, { variant: "A", cluster: "net9", seed: 1, time_to_target: null, accuracy: null }),
  runSummary(23, { variant: "B", cluster: "net9", workers: 16, seed: 1, time_to_target: 12, samples: 9 }),
];

it.each<[string | undefined, number[]]>([
  [undefined, [21, 22, 23]],
  ["nonsense", [21, 22, 23]],
  ["-run", [23, 22, 21]],
  ["variant", [21, 23, 22]], // B is the first of the specification
  ["cluster", [22, 23, 21]], // numbers within names by their size, then the number of workers
  ["seed", [22, 23, 21]],
  ["-seed", [21, 22, 23]],
  ["state", [21, 22, 23]],
  ["budget", [23, 21, 22]],
  ["time", [21, 23, 22]],
  ["-time", [23, 21, 22]], // without a value: last, either way
  ["accuracy", [21, 23, 22]],
])("by %s: %j", (sort, expected) => {
  const found = inOrder(RUNS, runsOrderIn(sort), ["B", "A"]);
  expect(found.map(({ number }: RunSummary) => number)).toEqual(expected);
});

it("a click on a title sorts upwards, then downwards, then as listed, in the address", async () => {
  answerExperiment(server);
  server.on("GET /runs", {
    items: [runSummary(21, { seed: 1 }), runSummary(22, { seed: 0 })],
    next_cursor: null,
  });
  const { user, address } = await openExperiment(server);
  const numbers = () => screen.getAllByTestId("run-row").map((row) => row.textContent?.slice(0, 3));
  const title = () => screen.getByRole("columnheader", { name: "Seed" });
  await user.click(screen.getByRole("button", { name: "Seed" }));
  await waitFor(() => expect(numbers()).toEqual(["#22", "#21"]));
  expect(address()).toContain("sort=seed");
  expect(title()).toHaveAttribute("aria-sort", "ascending");
  await user.click(screen.getByRole("button", { name: "Seed" }));
  await waitFor(() => expect(numbers()).toEqual(["#21", "#22"]));
  expect(title()).toHaveAttribute("aria-sort", "descending");
  expect(sheetOf(screen.getByTestId("runs-table")).head).toContain("Seed");
  await user.click(screen.getByRole("button", { name: "Seed" }));
  await waitFor(() => expect(address()).not.toContain("sort"));
});
