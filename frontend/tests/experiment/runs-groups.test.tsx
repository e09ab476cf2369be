import { screen, within } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { openApp } from "../support/app";
import { runSummary } from "../support/fixtures/run";
import { apiServer } from "../support/server";
import { answerExperiment } from "./page";

const server = apiServer();
beforeEach(() => answerExperiment(server));

const texts = (line: HTMLElement | undefined) =>
  within(line as HTMLElement)
    .getAllByRole("cell")
    .map((cell) => cell.textContent?.trim());

it("groups runs under their variant and place, with what the reported ones show together", async () => {
  const ended = { state: "succeeded", accuracy: 0.9 } as const;
  server.on("GET /runs", {
    items: [
      runSummary(21, { ...ended, seed: 0, time_to_target: 2, test_accuracy: 0.8 }),
      runSummary(22, { ...ended, seed: 1, time_to_target: 4, accuracy: 0.96 }),
      runSummary(23, { ...ended, seed: 2, accuracy: null, state: "failed_user" }),
      runSummary(24, { variant: "Original EASGD" }),
      runSummary(25, { cluster: "10gbe", workers: 8, simulated: true, rung: 0, trial: 1, time_to_target: 1 }),
    ],
    next_cursor: null,
  });
  const { user, address } = openApp(server, "/experiments/exp_7");
  await user.click(await screen.findByTestId("group-runs"));
  expect(address()).toBe("/experiments/exp_7?group=variant");
  const groups = await screen.findAllByTestId("run-group");
  expect(groups.map((group) => texts(group).slice(0, 3))).toEqual([
    ["▸ 1 run", "Original EASGD", "local × 2"],
    ["▸ 3 runs", "Sync EASGD", "local × 2"],
    ["▸ 1 run", "Sync EASGD", "10gbe × 8 simulated"],
  ]);
  expect(texts(groups[1]).slice(4)).toEqual([
    ...["3 of 3 ended, 1 failed", "", "93.00%", "80.00%", "3 s (2 of 3)", "25.0%"],
  ]);
  expect(texts(groups[2])[8], "a trial is not what is reported").toBe("–");
  expect(screen.queryAllByTestId("run-row")).toHaveLength(0);
  await user.click(screen.getByRole("button", { name: "3 runs of Sync EASGD on local with 2 workers" }));
  expect(screen.getAllByTestId("run-row").map((line) => texts(line)[0])).toEqual(["#21", "#22", "#23"]);
  await user.click(screen.getByRole("button", { name: "3 runs of Sync EASGD on local with 2 workers" }));
  expect(screen.queryAllByTestId("run-row")).toHaveLength(0);
  await user.click(screen.getByTestId("group-runs"));
  expect(await screen.findAllByTestId("run-row")).toHaveLength(5);
});

it("counts a target that was missed as a longer time, as the comparison does", async () => {
  const ended = { state: "succeeded", variant: "Sync EASGD", time_to_target: null } as const;
  const other = { ...ended, variant: "Original EASGD" } as const;
  server.on("GET /runs", {
    items: [
      ...[2, 4, null].map((time, seed) => runSummary(21 + seed, { ...ended, seed, time_to_target: time })),
      ...[2, null, null].map((time, seed) => runSummary(31 + seed, { ...other, seed, time_to_target: time })),
    ],
    next_cursor: null,
  });
  openApp(server, "/experiments/exp_7?group=variant");
  const groups = await screen.findAllByTestId("run-group");
  expect(groups.map((group) => [texts(group)[1], texts(group)[8]])).toEqual([
    ["Original EASGD", "– (1 of 3)"],
    ["Sync EASGD", "4 s (2 of 3)"],
  ]);
});
