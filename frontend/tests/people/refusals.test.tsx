import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { Role, RunView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { CATALOGUE, workload } from "../support/fixtures/catalogue";
import { experiment, summary } from "../support/fixtures/experiment";
import { me } from "../support/fixtures/people";
import { entry, queueView } from "../support/fixtures/queue";
import { run, series } from "../support/fixtures/run";
import { apiServer } from "../support/server";

const server = apiServer();
const EMPTY = { items: [], next_cursor: null };

/** The group of controls that are refused for a reason. */
const refused = async (reason: RegExp) => within(await screen.findByRole("group", { name: reason }));

describe("the page of a run", () => {
  beforeEach(() => {
    server
      .on("POST /series", {
        axis: "clock",
        unit: "s",
        series: [series("validation_accuracy"), series("train_loss", { y: [2, 1, 0.5], n: 3, of: 3 })],
      })
      .on("GET /runs/*/logs", { lines: [], more: false, next_after: 0 });
  });

  async function open(role: Role, owner: string, changes: Partial<RunView> = {}) {
    server.on("GET /me", me(role));
    server.on("GET /experiments/*", experiment({ user: owner }));
    server.on("GET /runs/*", run(changes));
    const app = openApp(server, "/runs/run_21");
    await screen.findByText("Digits, three ways");
    await waitFor(() => expect(screen.getByTestId("chart-train_loss")).toHaveAttribute("data-points", "3"));
    return app;
  }

  it("lets a researcher cancel a run of their own", async () => {
    await open("researcher", "ana", { state: "running" });
    expect(screen.getByTestId("cancel-run")).toBeEnabled();
    expect(screen.getByTestId("checkpoint-run")).toBeEnabled();
    expect(screen.queryByTestId("refused")).toBeNull();
  });

  it("says to a researcher whose run it is", async () => {
    await open("researcher", "ben", { state: "running" });
    const controls = await refused(/This belongs to ben: only ben or an operator can change it/);
    expect(controls.getByTestId("cancel-run")).toBeDisabled();
    expect(controls.getByTestId("checkpoint-run")).toBeDisabled();
  });

  it("lets an operator retry the run of somebody else", async () => {
    const { user } = await open("operator", "ben", { state: "failed_infra" });
    server.on("POST /runs/*/retry", run({ state: "queued", attempt: 2 }));
    await user.click(screen.getByTestId("retry-run"));
    await waitFor(() => expect(server.askedFor("POST /runs/*/retry")).toHaveLength(1));
  });

  it("leaves it to operators to abandon a run, also one's own", async () => {
    await open("researcher", "ana", { state: "lost" });
    const controls = await refused(/This needs the role operator; yours is researcher/);
    expect(controls.getByTestId("abandon-run")).toBeDisabled();
    expect(screen.getByTestId("cancel-run")).toBeEnabled();
  });
});

describe("the queue", () => {
  function open(role: Role) {
    server.on("GET /me", me(role));
    server.on(
      "GET /clusters/*/queue",
      queueView({ entries: [entry(1, { user: "ana" }), entry(2, { user: "ben" })] }),
    );
    return openApp(server, "/clusters/local/queue");
  }

  it("lets a researcher prioritize their own experiments only", async () => {
    open("researcher");
    const others = await refused(/This belongs to ben/);
    expect(others.getByLabelText("Priority of experiment 2")).toBeDisabled();
    expect(screen.getByLabelText("Priority of experiment 1")).toBeEnabled();
    const policy = await refused(/This needs the role operator/);
    expect(policy.getByRole("button", { name: "Save policy" })).toBeDisabled();
  });

  it("lets an operator change priorities and the policy", async () => {
    const { user } = open("operator");
    expect(await screen.findByLabelText("Priority of experiment 2")).toBeEnabled();
    expect(screen.queryByTestId("refused")).toBeNull();
    server.on("PUT /clusters/*/policy", { order: "priority" });
    await user.selectOptions(screen.getByLabelText("Order"), "priority");
    await user.click(screen.getByRole("button", { name: "Save policy" }));
    await waitFor(() => expect(server.askedFor("PUT /clusters/*/policy")).toHaveLength(1));
  });
});

describe("the calibration of a cluster", () => {
  it.each<[Role, boolean]>([
    ["researcher", false],
    ["operator", true],
  ])("is started by a %s: %s", async (role, may) => {
    server.on("GET /me", me(role)).on("GET /algorithms", CATALOGUE);
    server.on("GET /clusters/*/calibrations", { items: [] });
    openApp(server, "/clusters/lab/calibration");
    await screen.findByTestId("calibration-none");
    await waitFor(() => expect(screen.queryAllByTestId("refused")).toHaveLength(may ? 0 : 1));
    expect(screen.getByTestId("calibrate").matches(":disabled")).toBe(!may);
  });
});

describe("the list of experiments", () => {
  it.each<[Role, boolean]>([
    ["viewer", false],
    ["researcher", true],
  ])("offers a %s a new one: %s", async (role, may) => {
    server.on("GET /me", me(role)).on("GET /experiments", { items: [summary(7)], next_cursor: null });
    openApp(server, "/");
    await screen.findByRole("link", { name: "Comparison 7" });
    await waitFor(() => expect(screen.queryAllByTestId("new-experiment")).toHaveLength(may ? 1 : 0));
    const main = within(screen.getByRole("navigation", { name: "Main" }));
    expect(main.queryAllByRole("link", { name: "New" })).toHaveLength(may ? 1 : 0);
  });
});

describe("a new experiment", () => {
  it("asks a viewer for nothing that they may not have", async () => {
    server.on("GET /me", me("viewer"));
    server.on("GET /algorithms", CATALOGUE).on("GET /workloads", { items: [workload("digits-mlp")] });
    server.on("GET /clusters", { items: [] });
    openApp(server, "/new");
    expect(await screen.findByTestId("may-not-submit")).toHaveTextContent(
      "This needs the role researcher; yours is viewer.",
    );
    expect(server.askedFor("POST /experiments/dry-run")).toEqual([]);
  });
});

describe("a page of the server without users", () => {
  it("refuses its owner nothing", async () => {
    server.on("GET /experiments", EMPTY);
    openApp(server, "/");
    expect(await screen.findByTestId("start-example")).toBeVisible();
    expect(await screen.findByTestId("person")).toHaveAccessibleName("Account of owner");
    expect(screen.queryByTestId("refused")).toBeNull();
  });
});
