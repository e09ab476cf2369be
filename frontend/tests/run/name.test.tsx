import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { openApp } from "../support/app";
import { experiment } from "../support/fixtures/experiment";
import { run } from "../support/fixtures/run";
import { apiServer } from "../support/server";

const server = apiServer();

it("the page of a run calls its experiment by the name that it has, also where another tab gives it one", async () => {
  server
    .on("GET /runs/*", run({ state: "succeeded" }))
    .on("GET /experiments/*", experiment())
    .on("POST /series", { axis: "clock", unit: "s", series: [] })
    .on("GET /runs/*/logs", { lines: [], more: false, next_after: 0 });
  const { live } = openApp(server, "/runs/run_21");
  await screen.findByRole("link", { name: "Digits, three ways" });
  await live();
  server.on("GET /experiments/*", experiment({ name: "Digits, four ways", revision: 1 }));
  server.send("experiment", { id: "exp_7" }, 900);
  expect(await screen.findByRole("link", { name: "Digits, four ways" }, { timeout: 4000 })).toBeVisible();
  expect(server.streams.at(-1)?.query.getAll("experiment")).toEqual(["exp_7"]);
});
