import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { openApp } from "../support/app";
import { experiment } from "../support/fixtures/experiment";
import { run } from "../support/fixtures/run";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();

it("a run that could not be loaded has a page with a heading, and is tried again", async () => {
  server
    .on("GET /runs/*", new Refusal(403, "Not yours."))
    .on("GET /experiments/*", experiment())
    .on("POST /series", { axis: "clock", unit: "s", series: [] })
    .on("GET /runs/*/logs", { lines: [], more: false, next_after: 0 });
  const { user } = openApp(server, "/runs/run_21");
  expect(await screen.findByText(/The run could not be loaded/)).toBeVisible();
  expect(screen.getByRole("heading", { level: 1, name: "Run" })).toBeVisible();
  server.on("GET /runs/*", run());
  await user.click(screen.getByRole("button", { name: "Try again" }));
  expect(await screen.findByRole("heading", { level: 1, name: /Run #21/ })).toBeVisible();
});
