import { screen, waitFor } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { RunView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { experiment } from "../support/fixtures/experiment";
import { logLine, logOf, run } from "../support/fixtures/run";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const lines = (...words: string[]) => logOf(...words.map((text, i) => logLine(i + 1, text)));

beforeEach(() => {
  server.on("GET /experiments/*", experiment()).on("POST /series", { axis: "clock", unit: "s", series: [] });
});

async function open(changes: Partial<RunView> = {}, address = "/runs/run_21") {
  server.on("GET /runs/*", run(changes));
  const app = openApp(server, address);
  await screen.findByText("Digits, three ways");
  await app.live();
  return app;
}

describe("a log without lines", () => {
  it("may still get some while the run goes on", async () => {
    server.on("GET /runs/*/logs", lines());
    await open();
    expect(await screen.findByText("No output yet.")).toBeVisible();
    server.on("GET /runs/*/logs", lines("first words"));
    server.send("logs", { id: "run_21", experiment_id: "exp_7" }, 4);
    expect(await screen.findByText("first words")).toBeVisible();
    expect(screen.queryByText("No output yet.")).toBeNull();
  });
});

describe("a log that cannot be read", () => {
  it("says why, and is read when told", async () => {
    server.on("GET /runs/*/logs", new Refusal(403, "logs are kept for owners"));
    const { user } = await open();
    expect(await screen.findByRole("alert")).toHaveTextContent(
      "The log could not be loaded. logs are kept for owners",
    );
    server.on("GET /runs/*/logs", lines("at last"));
    await user.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByText("at last")).toBeVisible();
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("keeps the lines that were read before", async () => {
    server.on("GET /runs/*/logs", lines("still here"));
    await open();
    await screen.findByText("still here");
    const before = server.askedFor("GET /runs/*/logs").length;
    server.on("GET /runs/*/logs", new Refusal(404, "rotated away"));
    server.send("logs", { id: "run_21", experiment_id: "exp_7" }, 4);
    await waitFor(() => expect(server.askedFor("GET /runs/*/logs").length).toBeGreaterThan(before));
    expect(screen.getByText("still here")).toBeVisible();
    expect(screen.queryByRole("alert")).toBeNull();
  });
});

it("a word longer than the window, and a blank line, stay as they were written", async () => {
  const long = "/".repeat(400);
  server.on("GET /runs/*/logs", lines(long, "", "  indented"));
  await open();
  await screen.findByText(long);
  const words = [...screen.getByRole("log").children].map((line) => line.lastElementChild?.textContent);
  expect(words).toEqual([long, "", "  indented"]);
});
