import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { ExperimentView, RunState, RunView } from "@/lib/client/types.gen";
import { isTerminal } from "@/lib/ui/states";
import { openApp } from "../support/app";
import { asksAgain } from "../support/asks-again";
import { experiment, ORIGIN } from "../support/fixtures/experiment";
import { checkpoint, run, series } from "../support/fixtures/run";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const part = (id: string) => within(screen.getByTestId(id));
beforeEach(() => {
  server
    .on("GET /experiments/*", experiment())
    .on("POST /series", {
      axis: "clock",
      unit: "s",
      series: [series("validation_accuracy"), series("train_loss", { y: [2, 1, 0.5], n: 3, of: 3 })],
    })
    .on("GET /runs/*/logs", { lines: [], more: false, next_after: 0 });
});

async function open(changes: Partial<RunView> = {}, address = "/runs/run_21") {
  const shown = run(changes);
  server.on("GET /runs/*", shown);
  const app = openApp(server, address);
  await screen.findByText("Digits, three ways");
  await waitFor(() => expect(screen.getByTestId("chart-train_loss")).toHaveAttribute("data-points", "3"));
  await screen.findByText(isTerminal(shown.state) ? "No output." : "No output yet.");
  return app;
}

describe("the header", () => {
  it("says which run it is, of what, and how far", async () => {
    await open({ servers: 1, attempt: 2 });
    expect(screen.getByRole("heading", { level: 1 })).toHaveTextContent("Run #21 Sync EASGD");
    expect(document.title).toBe("Run #21 · Sync EASGD · Hooke");
    expect(screen.getByRole("link", { name: "Digits, three ways" })).toHaveAttribute(
      "href",
      "/experiments/exp_7",
    );
    for (const text of ["local, 2 workers + server", "seed 0", "attempt 2", "95.12%", "30,000 of 120,000"])
      expect(screen.getByText(text)).toBeVisible();
  });

  it("says beside the accuracy that the target was not reached, once the run has ended", async () => {
    await open({ state: "succeeded" });
    expect(screen.getByText("target 97% not reached")).toBeVisible();
  });

  it.each([
    [{ trial: 3, rung: 1 }, "trial 3, rung 2"],
    [{ trial: 3 }, "setting of trial 3"],
    [{}, undefined],
  ])("says of a run with %o whose setting it has", async (changes, words) => {
    await open(changes);
    if (words) expect(screen.getByText(words)).toBeVisible();
    else expect(screen.queryByText(/trial/)).toBeNull();
  });

  it.each<[RunState, boolean, boolean]>([
    ["starting", true, false],
    ["running", true, true],
    ["timed_out", false, false],
  ])("of a run that is %s offers to cancel it: %s, and a checkpoint: %s", async (state, cancel, save) => {
    await open({ state });
    expect(screen.getByTestId("run-state")).toHaveAttribute("data-state", state);
    expect(screen.queryByTestId("cancel-run") !== null).toBe(cancel);
    expect(screen.queryByTestId("checkpoint-run") !== null).toBe(save);
  });

  it.each<[string, Partial<RunView>, RegExp]>([
    ["is still to be scored", {}, /is scored once, when the run has met/],
    ["was scored", { test_accuracy: 0.9612, test_loss: 0.1234 }, /scored once after the end: loss 0.1234/],
    ["judged everything", { evaluated_part: "test" }, /Made without a validation part/],
  ])("says when the test part %s", async (_, changes, words) => {
    await open(changes);
    expect(screen.getByTestId("parts")).toHaveTextContent(words);
    const asked = server.askedFor("POST /series")[0]?.body;
    const own = changes.evaluated_part === "test" ? "test_accuracy" : "validation_accuracy";
    expect(asked).toMatchObject({ runs: ["run_21"], metrics: expect.arrayContaining([own, "train_loss"]) });
  });

  it("asks before it cancels", async () => {
    const { user } = await open();
    const asked = run({ cancel_requested: true });
    server.on("POST /runs/*/cancel", asked).on("GET /runs/*", asked);
    await user.click(screen.getByTestId("cancel-run"));
    expect(await screen.findByText("Cancel this run? Measured data is kept.")).toBeVisible();
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByText("Cancel this run? Measured data is kept.")).toBeNull());
    expect(server.askedFor("POST /runs/*/cancel")).toHaveLength(0);
    await user.click(screen.getByTestId("cancel-run"));
    await user.click(await screen.findByRole("button", { name: "Cancel the run" }));
    await waitFor(() => expect(screen.getByTestId("run-state")).toHaveTextContent("cancelling"));
    expect(screen.getByTestId("cancel-run")).toHaveTextContent("Cancelling");
    await waitFor(() => expect(screen.queryByTestId("checkpoint-run")).toBeNull());
    expect(server.askedFor("POST /runs/*/cancel")).toHaveLength(1);
  });
});

describe("another attempt", () => {
  it.each<[RunState, Partial<RunView>, boolean, boolean]>([
    ["failed_infra", {}, true, false],
    ["timed_out", {}, true, false],
    ["cancelled", {}, true, false],
    ["failed_user", { rung: 0, trial: 1 }, false, false],
    ["succeeded", {}, false, false],
    ["running", {}, false, false],
    ["lost", {}, false, true],
    ["dispatched", { cancel_requested: true }, false, true],
  ])(
    "of a run that is %s %o is offered: %s, and to abandon it: %s",
    async (state, changes, retry, abandon) => {
      await open({ state, ...changes });
      expect(screen.queryByTestId("retry-run") !== null).toBe(retry);
      expect(screen.queryByTestId("abandon-run") !== null).toBe(abandon);
    },
  );

  it.each<[RunState, boolean]>([
    ["timed_out", true],
    ["succeeded", false],
  ])("of an imported run that is %s is not offered, and says why where it were: %s", async (state, says) => {
    server.on("GET /experiments/*", experiment({ origin: ORIGIN }));
    await open({ state });
    expect(screen.getByTestId("origin")).toHaveTextContent("imported from lab.example.org #12");
    expect(screen.queryByText("Imported; cannot be run here") !== null).toBe(says);
    for (const id of ["retry-run", "cancel-run", "checkpoint-run"])
      expect(screen.queryByTestId(id)).toBeNull();
  });

  it("is not offered while it is not known whether the run was imported", async () => {
    let known: () => void = () => undefined;
    const answer = new Promise<ExperimentView>((done) => {
      known = () => done(experiment());
    });
    server.on("GET /experiments/*", () => answer).on("GET /runs/*", run({ state: "timed_out" }));
    openApp(server, "/runs/run_21");
    await screen.findByText("No output.");
    expect(screen.queryByTestId("retry-run")).toBeNull();
    known();
    expect(await screen.findByTestId("retry-run")).toBeVisible();
  });

  it("is asked for with a click, from the latest checkpoint", async () => {
    const { user } = await open({ state: "failed_infra" });
    const again = run({ state: "queued", attempt: 2 });
    server.on("POST /runs/*/retry", again).on("GET /runs/*", again);
    await user.click(screen.getByTestId("retry-run"));
    expect(await screen.findByText("attempt 2")).toBeVisible();
    expect(server.askedFor("POST /runs/*/retry")[0]?.body).toEqual({ resume: true });
    expect(screen.queryByTestId("retry-run")).toBeNull();
  });

  it("says what abandoning risks before it is done", async () => {
    const { user } = await open({ state: "lost" });
    const ended = run({ state: "cancelled" });
    server.on("POST /runs/*/abandon", ended).on("GET /runs/*", ended);
    await user.click(screen.getByTestId("abandon-run"));
    expect(await screen.findByText(/Its processes may still be running/)).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Abandon the run" }));
    expect(await screen.findByTestId("retry-run")).toBeVisible();
    expect(server.askedFor("POST /runs/*/abandon")).toHaveLength(1);
  });
});

describe("a checkpoint", () => {
  it("is asked for, and said to be there once it lies on the cluster", async () => {
    const { user, live } = await open({ checkpoints: [checkpoint(10_000)] });
    await live();
    server.on("POST /runs/*/checkpoint", run({ checkpoints: [checkpoint(10_000)] }));
    await user.click(screen.getByTestId("checkpoint-run"));
    expect(await screen.findByText("Waiting for every rank to save its state …")).toBeVisible();
    expect(screen.queryByTestId("checkpoint-came")).toBeNull();
    server.on("GET /runs/*", run({ checkpoints: [checkpoint(10_000), checkpoint(32_000)] }));
    server.send("run", { id: "run_21", experiment_id: "exp_7", state: "running", attempt: 1 }, 9);
    expect(await screen.findByTestId("checkpoint-came")).toHaveTextContent(
      "Checkpoint saved at 32,000 samples, 407 kB; the run continues.",
    );
  });

  it("that the run did not live to write is not waited for", async () => {
    const { user } = await open();
    server.on("POST /runs/*/checkpoint", run({ state: "succeeded" }));
    await user.click(screen.getByTestId("checkpoint-run"));
    expect(await screen.findByText("The run ended before it could save a checkpoint.")).toBeVisible();
  });

  it("that was refused says why", async () => {
    const { user } = await open();
    server.on("POST /runs/*/checkpoint", new Refusal(409, "The run is not in its loop."));
    await user.click(screen.getByTestId("checkpoint-run"));
    expect(await screen.findByRole("alert")).toHaveTextContent("The run is not in its loop.");
    expect(screen.queryByText("Waiting for every rank to save its state …")).toBeNull();
  });
});

describe("the page", () => {
  it("shows curves over the axis of the address, and moves it there", async () => {
    const { user, address } = await open({}, "/runs/run_21?x=1.5_2.5");
    const chart = within(screen.getByTestId("chart-validation_accuracy"));
    expect(chart.getByRole("img")).toHaveAccessibleName(
      "Validation accuracy. Validation accuracy 95.00% at 3 s.",
    );
    expect(chart.getByText("3 of 900 points")).toBeVisible();
    expect(screen.getByTestId("chart-validation_loss")).toHaveAttribute("data-points", "0");
    await user.click(part("run-curves").getByRole("button", { name: "Show all" })); // the zoom of the address
    await waitFor(() => expect(address()).toBe("/runs/run_21"));
    await user.click(part("run-curves").getByText("Samples"));
    await waitFor(() =>
      expect(server.askedFor("POST /series").at(-1)?.body).toMatchObject({ axis: "samples" }),
    );
    expect(address()).toBe("/runs/run_21?axis=samples");
  });

  it("draws averages before pale lines, and losses on a logarithmic scale, where that is asked for", async () => {
    const { user, address } = await open();
    fireEvent.change(screen.getByTestId("smooth"), { target: { value: "4" } });
    await waitFor(() => expect(screen.getByTestId("chart-train_loss")).toHaveAttribute("data-points", "6"));
    const loss = within(screen.getByTestId("chart-train_loss"));
    expect(loss.getByRole("img")).toHaveAccessibleName(/Training loss, averaged/);
    expect(screen.getByTestId("chart-validation_accuracy")).toHaveAttribute("data-points", "6");
    await user.click(screen.getByTestId("log-scale"));
    await waitFor(() => expect(address()).toBe("/runs/run_21?smooth=4&scale=log"));
  });

  it("shows on what it ran, and the resolved document", async () => {
    const { user } = await open({ hardware: { host: "node1", memory_bytes: 25e9, cpu_generation: "" } });
    const environment = part("environment");
    for (const text of ["run_21", "node1", "25 GB", "2.9.0"])
      expect(environment.getByText(text)).toBeVisible();
    expect(part("run-spec").getByText("sync-easgd")).toBeVisible();
    await user.click(part("run-spec").getByText("JSON"));
    const document = await part("run-spec").findByRole("region", { name: "Resolved specification as JSON" });
    expect(JSON.parse(document.textContent ?? "")).toEqual({ algorithm: "sync-easgd", seed: 0 });
  });

  it("says that there is no such run", async () => {
    server.on("GET /runs/*", new Refusal(404, "Not found."));
    openApp(server, "/runs/run_0");
    expect(await screen.findByRole("heading", { name: "Run not found" })).toBeVisible();
    expect(document.title).toBe("Run not found · Hooke");
    await asksAgain(server, "GET /runs/*", "run", { id: "run_0" });
    expect(screen.getByRole("heading", { name: "Run not found" })).toBeVisible();
  });
});
