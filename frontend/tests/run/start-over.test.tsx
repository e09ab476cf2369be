import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import type { RunView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { experiment } from "../support/fixtures/experiment";
import { checkpoint, run } from "../support/fixtures/run";
import { apiServer } from "../support/server";

const server = apiServer();

async function open(changes: Partial<RunView>) {
  server
    .on("GET /runs/*", run({ state: "failed_infra", ...changes }))
    .on("GET /experiments/*", experiment())
    .on("POST /series", { axis: "clock", unit: "s", series: [] })
    .on("GET /runs/*/logs", { lines: [], more: false, next_after: 0 });
  const app = openApp(server, "/runs/run_21");
  await screen.findByTestId("retry-run");
  return app;
}

it("a run without a checkpoint has nothing that starting over would leave out", async () => {
  await open({});
  expect(screen.queryByTestId("start-over")).toBeNull();
});

it("a run starts over after what that means was said", async () => {
  const { user } = await open({ checkpoints: [checkpoint(10_000)] });
  const again = run({ state: "queued", attempt: 2, checkpoints: [checkpoint(10_000)] });
  server.on("POST /runs/*/retry", again).on("GET /runs/*", again);
  await user.click(screen.getByTestId("start-over"));
  expect(await screen.findByText(/begins without a checkpoint/)).toBeVisible();
  expect(server.askedFor("POST /runs/*/retry")).toEqual([]);
  await user.click(screen.getByRole("button", { name: "Start it over" }));
  expect(await screen.findByText("attempt 2")).toBeVisible();
  expect(server.askedFor("POST /runs/*/retry")[0]?.body).toEqual({ resume: false });
  expect(screen.queryByTestId("start-over")).toBeNull();
});
