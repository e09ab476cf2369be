import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { openApp } from "../support/app";
import { asksAgain } from "../support/asks-again";
import { experiment } from "../support/fixtures/experiment";
import { entry, queueView, span } from "../support/fixtures/queue";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const open = () => openApp(server, "/clusters/local/queue");
const rows = async () => (await screen.findAllByTestId("queue-row")).map((row) => within(row));

describe("the queue of a cluster", () => {
  it("says who is served, who waits, why and until when", async () => {
    const second = entry(2, { user: "ada", begun: true, reason: "behind 1 experiment (3 runs)" });
    server.on(
      "GET /clusters/*/queue",
      queueView({ entries: [entry(1, { reason: "next to start" }), second] }),
    );
    open();
    expect(await screen.findByRole("heading", { name: "Queue of local" })).toBeVisible();
    expect(document.title).toBe("Queue of local · Hooke");
    expect(await screen.findByTestId("queue-facts")).toHaveTextContent("online5 of 8 slots free");
    expect(screen.getByTestId("queue-active")).toHaveTextContent(
      /^Experiment 9 of ada: 2 active runs, end about (\d\d-\d\d )?\d\d:\d\d \((\d\d-\d\d )?\d\d:\d\d to (\d\d-\d\d )?\d\d:\d\d\)$/,
    );
    const [first, other] = await rows();
    expect(first?.getByText("Waiting for a free core")).toBeVisible();
    expect(first?.getByRole("link", { name: "#1 Comparison 1" })).toHaveAttribute(
      "href",
      "/experiments/exp_1",
    );
    expect(first?.getByText("about 2 min 10 s")).toHaveAttribute(
      "title",
      "Predicted from 3 runs of the same workload and cluster.",
    );
    expect(other?.getByText("ada")).toBeVisible();
    expect(other?.getByText("has begun")).toBeVisible();
    expect(other?.getByText("Behind 1 experiment (3 runs)")).toBeVisible();
  });

  it("says what cannot be predicted", async () => {
    const unknown = { starts: null, ends: null, run_seconds: null, likeness: null };
    const active = { experiment: "exp_9", number: 9, user: "ada", runs: 1, ranks: 3, ends: null };
    server.on("GET /clusters/*/queue", queueView({ active: [active], entries: [entry(1, unknown)] }));
    open();
    const [row] = await rows();
    expect(row?.getAllByText("unknown")).toHaveLength(3);
    expect(screen.getByTestId("queue-active")).toHaveTextContent("1 active run, end unknown");
  });

  it.each([
    [6, 5, "1 active run, 5 sent and not begun, end unknown"],
    [2, 2, "2 sent and not begun, end unknown"],
  ])("tells of %i runs those that have not begun apart", async (runs, sent, words) => {
    const active = { experiment: "exp_9", number: 9, user: "ada", runs, sent, ranks: 3, ends: null };
    server.on("GET /clusters/*/queue", queueView({ active: [active], entries: [] }));
    open();
    expect(await screen.findByTestId("queue-active")).toHaveTextContent(`Experiment 9 of ada: ${words}`);
    expect(screen.getByText("No other experiment waits.")).toBeVisible();
  });

  it.each([
    [{ online: false }, "offline"],
    [{ drained: true }, "drained: starts no runs"],
  ])("says that a cluster with %o starts nothing", async (changes, words) => {
    server.on("GET /clusters/*/queue", queueView({ ...changes, active: [], entries: [] }));
    open();
    expect(await screen.findByText(words)).toBeVisible();
    expect(screen.getByText("No experiment waits.")).toBeVisible();
    expect(screen.getByText("No runs are active.")).toBeVisible();
  });

  it("follows what happens", async () => {
    server.on("GET /clusters/*/queue", queueView());
    const { live } = open();
    await rows();
    await live();
    server.on("GET /clusters/*/queue", queueView({ entries: [] }));
    server.send("run", { id: "run_1", experiment_id: "exp_1", state: "running", attempt: 1 }, 1);
    expect(await screen.findByText("No other experiment waits.")).toBeVisible();
  });

  it("knows that there is no such cluster", async () => {
    server.on("GET /clusters/*/queue", new Refusal(404, "No such cluster."));
    open();
    expect(await screen.findByText(/No cluster is called local/)).toBeVisible();
    expect(screen.getByRole("link", { name: "All clusters" })).toHaveAttribute("href", "/clusters");
    expect(document.title).toBe("Cluster not found · Hooke");
    await asksAgain(server, "GET /clusters/*/queue", "clusters", { name: "local" });
    expect(screen.getByText(/No cluster is called local/)).toBeVisible();
  });

  it("changes a priority and reads the queue again", async () => {
    server.on("GET /clusters/*/queue", queueView());
    server.on("PUT /experiments/*/priority", experiment({ id: "exp_2", priority: 5 }));
    const { user } = open();
    const [, second] = await rows();
    const field = screen.getByRole("textbox", { name: "Priority of experiment 2" });
    expect(second?.getByRole("button", { name: "Set" })).toBeDisabled();
    await user.clear(field);
    await user.type(field, "5");
    const before = server.askedFor("GET /clusters/*/queue").length;
    await user.click(second?.getByRole("button", { name: "Set" }) as HTMLElement);
    await waitFor(() => expect(server.askedFor("PUT /experiments/*/priority")).toHaveLength(1));
    const [asked] = server.askedFor("PUT /experiments/*/priority");
    expect([asked?.path, asked?.body]).toEqual(["/api/v1/experiments/exp_2/priority", { priority: 5 }]);
    await waitFor(() => expect(server.askedFor("GET /clusters/*/queue").length).toBeGreaterThan(before));
  });

  it("says why a priority could not be changed", async () => {
    server.on("GET /clusters/*/queue", queueView({ entries: [entry(1)] }));
    server.on("PUT /experiments/*/priority", new Refusal(409, "It has ended."));
    const { user } = open();
    await user.type(await screen.findByRole("textbox", { name: "Priority of experiment 1" }), "7");
    await user.click(screen.getByRole("button", { name: "Set" }));
    expect(await screen.findByRole("alert")).toHaveTextContent(
      "The priority could not be changed. It has ended.",
    );
  });
});

describe("the policy", () => {
  it("asks only for what the order depends on, and is saved as a whole", async () => {
    server.on("GET /clusters/*/queue", queueView());
    server.on("PUT /clusters/*/policy", ({ body }) => body as object);
    const { user } = open();
    const order = await screen.findByRole("combobox", { name: "Order" });
    expect(screen.getByText("The oldest experiment goes first.")).toBeVisible();
    expect(screen.queryByRole("textbox", { name: "Ageing, minutes" })).toBeNull();
    expect(screen.getByRole("button", { name: "Save policy" })).toBeDisabled();
    await user.selectOptions(order, "priority");
    const ageing = screen.getByRole("textbox", { name: "Ageing, minutes" });
    await user.clear(ageing);
    await user.type(ageing, "30");
    await user.type(screen.getByRole("textbox", { name: "Waiting runs per user, at most" }), "100");
    await user.click(screen.getByRole("button", { name: "Save policy" }));
    await waitFor(() => expect(server.askedFor("PUT /clusters/*/policy")).toHaveLength(1));
    expect(server.askedFor("PUT /clusters/*/policy")[0]?.body).toEqual({
      order: "priority",
      ageing_minutes: 30,
      half_life_hours: 24,
      patience_hours: 24,
      max_waiting_runs: 100,
      max_active_runs: null,
    });
  });

  it.each([
    ["fair-share", "Half-life, hours"],
    ["shortest-service", "Patience, hours"],
  ])("of %s has %s", async (order, field) => {
    server.on("GET /clusters/*/queue", queueView());
    const { user } = open();
    await user.selectOptions(await screen.findByRole("combobox", { name: "Order" }), order);
    expect(screen.getByRole("textbox", { name: field })).toHaveValue("24");
  });

  it("takes an empty field as no limit, and says why it was refused", async () => {
    const policy = { ...queueView().policy, max_active_runs: 4 };
    server.on("GET /clusters/*/queue", queueView({ policy }));
    server.on("PUT /clusters/*/policy", new Refusal(422, "Too large."));
    const { user } = open();
    await user.clear(await screen.findByRole("textbox", { name: "Active runs per user, at most" }));
    await user.click(screen.getByRole("button", { name: "Save policy" }));
    expect(await screen.findByRole("alert")).toHaveTextContent("The policy could not be saved. Too large.");
    expect(server.askedFor("PUT /clusters/*/policy")[0]?.body).toMatchObject({ max_active_runs: null });
  });
});

describe("predicted times", () => {
  it("name the day where it is another, and no interval where it is short", async () => {
    const far = entry(1, { starts: span(60 * 30), ends: span(60 * 31, 0.1) });
    server.on("GET /clusters/*/queue", queueView({ entries: [far] }));
    open();
    const [row] = await rows();
    expect(row?.getByText(/^about \d\d-\d\d \d\d:\d\d \(/)).toBeVisible();
    expect(row?.getByText(/^about \d\d-\d\d \d\d:\d\d$/)).toBeVisible();
  });
});
