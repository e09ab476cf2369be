import { act, screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { openApp } from "../support/app";
import { experiment } from "../support/fixtures/experiment";
import { runSummary } from "../support/fixtures/run";
import { apiServer } from "../support/server";
import { answerExperiment } from "./page";

const server = apiServer();

it("what is selected on the page of one experiment is not selected on the next", async () => {
  answerExperiment(server);
  server
    .on("GET /experiments/*", ({ path }) => experiment({ id: path.split("/").at(-1) ?? "" }))
    .on("GET /runs", { items: [runSummary(21)], next_cursor: null });
  const { user, router, address } = openApp(server, "/experiments/exp_8");
  const box = () => screen.findByRole("checkbox", { name: /^Select run/ });
  await box();
  await act(async () => router.history.push("/experiments/exp_7"));
  await waitFor(() => expect(address()).toBe("/experiments/exp_7"));
  await user.click(await box());
  expect(await screen.findByTestId("compare-runs")).toBeVisible();
  await act(async () => router.history.push("/experiments/exp_8")); // it is known: no placeholder stands between the two pages
  await waitFor(() => expect(screen.queryByTestId("compare-runs")).toBeNull());
  expect(await box()).not.toBeChecked();
});
