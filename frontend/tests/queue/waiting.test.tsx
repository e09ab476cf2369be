import { screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { answerExperiment, openExperiment } from "../experiment/page";
import { openApp } from "../support/app";
import { experiment, summary } from "../support/fixtures/experiment";
import { waiting } from "../support/fixtures/queue";
import { run, runSummary } from "../support/fixtures/run";
import { apiServer } from "../support/server";

const server = apiServer();
const TIMES = /starts about \d\d:\d\d \(\d\d:\d\d to \d\d:\d\d\), ends about \d\d:\d\d/;

// at noon: a predicted time of another day has its date
beforeEach(() => vi.useFakeTimers({ toFake: ["Date"], now: new Date(2026, 5, 1, 12, 0) }));
afterEach(() => vi.useRealTimers());

describe("what waits says why and until when", () => {
  it("in the list", async () => {
    const items = [summary(2, { waiting: [waiting()] }), summary(1)];
    server.on("GET /experiments", { items, next_cursor: null });
    openApp(server, "/");
    const note = await screen.findByTestId("item-waiting");
    expect(note).toHaveTextContent("4 runs wait on local: Behind 1 experiment (3 runs), 2nd in queue");
    expect(note).toHaveTextContent(TIMES);
  });

  it("on the page of an experiment, with its priority", async () => {
    answerExperiment(server);
    const waits = experiment({ waiting: [waiting(), waiting({ cluster: "far", starts: null, ends: null })] });
    server.on("GET /experiments/*", waits);
    server.on("PUT /experiments/*/priority", () => {
      server.on("GET /experiments/*", { ...waits, priority: 3 });
      return { ...waits, priority: 3 };
    });
    const { user } = await openExperiment(server);
    const note = within(screen.getByTestId("waiting"));
    expect(note.getByRole("link", { name: "local" })).toHaveAttribute("href", "/clusters/local/queue");
    expect(screen.getByTestId("waiting")).toHaveTextContent(TIMES);
    expect(note.getByText("start and end unknown")).toBeVisible();
    const field = screen.getByRole("textbox", { name: "Priority" });
    await user.clear(field);
    await user.type(field, "3");
    await user.click(screen.getByRole("button", { name: "Set" }));
    await waitFor(() => expect(screen.getByRole("button", { name: "Set" })).toBeDisabled());
    expect(server.askedFor("PUT /experiments/*/priority")[0]?.body).toEqual({ priority: 3 });
    await waitFor(() => expect(screen.getByRole("textbox", { name: "Priority" })).toHaveValue("3"));
  });

  it("not where nothing waits", async () => {
    answerExperiment(server);
    await openExperiment(server);
    expect(screen.queryByTestId("waiting")).toBeNull();
    expect(screen.queryByRole("textbox", { name: "Priority" })).toBeNull();
  });

  it("in the table of runs", async () => {
    answerExperiment(server);
    const reason = "sent to its cluster, takes its turn after 2 runs of its launch";
    const sent = runSummary(22, { state: "dispatched", waiting: waiting({ position: 0, reason }) });
    server.on("GET /runs", { items: [sent], next_cursor: null });
    await openExperiment(server);
    const row = within(screen.getByTestId("run-row"));
    expect(row.getByText("waiting")).toHaveAttribute(
      "title",
      "Sent to its cluster, takes its turn after 2 runs of its launch",
    );
    expect(row.getByText(/^\d+\w\w in turn, starts about \d\d:\d\d/)).toBeVisible();
  });

  it("on the page of a run", async () => {
    const reason = "cluster offline since 13:02 UTC, then 1 run of its experiment";
    const waits = run({
      state: "queued",
      waiting: waiting({ position: 1, reason, starts: null, ends: null }),
    });
    server.on("GET /runs/*", waits).on("GET /experiments/*", experiment());
    server.on("GET /runs/*/logs", { lines: [], next_after: 0, more: false });
    server.on("POST /series", { axis: "clock", unit: "s", series: [] });
    openApp(server, `/runs/${waits.id}`);
    expect(await screen.findByTestId("waiting")).toHaveTextContent(
      /^local · Cluster offline since \d\d:\d\d, then 1 run of its experiment \(1st in queue\)/,
    );
  });
});
