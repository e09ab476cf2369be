import { screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { answerExperiment, openExperiment } from "../experiment/page";
import { experiment } from "../support/fixtures/experiment";
import { run, runSummary } from "../support/fixtures/run";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const option = (name: RegExp) => screen.findByRole("option", { name });

describe("what is done with the experiment that is shown", () => {
  async function openOn(changes: Parameters<typeof experiment>[0], address?: string) {
    answerExperiment(server);
    server.on("GET /experiments", { items: [], next_cursor: null });
    server.on("GET /experiments/*", experiment(changes));
    const app = await openExperiment(server, address);
    await app.user.keyboard("{Control>}k{/Control}");
    await screen.findByRole("combobox", { name: "Search" });
    return app;
  }

  it("is starred at once", async () => {
    server.on("PATCH /experiments/*", experiment({ starred: true }));
    const { user } = await openOn({});
    await user.click(await option(/^Star this experiment/));
    await waitFor(() =>
      expect(server.askedFor("PATCH /experiments/*").map(({ body }) => body)).toEqual([{ starred: true }]),
    );
  });

  it("is cancelled after a question, and what was refused is told", async () => {
    server.on("POST /experiments/*/cancel", new Refusal(409, "it has ended meanwhile"));
    const { user } = await openOn({ state: "running" });
    await user.click(await option(/^Cancel the runs of this experiment/));
    expect(await screen.findByText(/^Cancel all runs of this experiment/)).toBeVisible();
    expect(server.askedFor("POST /experiments/*/cancel")).toEqual([]);
    await user.click(screen.getByTestId("palette-confirm"));
    expect(await screen.findByText(/it has ended meanwhile/)).toBeVisible();
  });

  it("is run again after a question, which leads to the new one", async () => {
    server.on("POST /experiments", experiment({ id: "exp_8" }));
    const { user, address } = await openOn({ state: "succeeded", runs: { succeeded: 9 } });
    await user.click(await option(/^Rerun this experiment/));
    await user.click(await screen.findByTestId("palette-confirm"));
    await waitFor(() => expect(address()).toBe("/experiments/exp_8"));
    expect(server.askedFor("POST /experiments").map(({ body }) => body)).toEqual([experiment().spec]);
  });

  it("is run again with the same key until an answer comes, and with another one then", async () => {
    const { user, address } = await openOn({ state: "succeeded", runs: { succeeded: 9 }, version: 4 });
    const again = async () => {
      await user.click(await option(/^Rerun this experiment/));
      await user.click(await screen.findByTestId("palette-confirm"));
    };
    server.on("POST /experiments", new Refusal(503, "Later."));
    await again();
    expect(await screen.findByText(/Later\./)).toBeVisible();
    server.on("POST /experiments", experiment({ id: "exp_7" }));
    for (const times of [2, 3]) {
      await user.keyboard("{Escape}");
      await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
      await user.keyboard("{Control>}k{/Control}");
      await again();
      await waitFor(() => expect(server.askedFor("POST /experiments")).toHaveLength(times));
      await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    }
    expect(address()).toBe("/experiments/exp_7");
    const [first, second, third] = server
      .askedFor("POST /experiments")
      .map(({ headers }) => headers["idempotency-key"]);
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(second).toBe(first);
    expect(third).toMatch(/^[0-9a-f]{32}$/);
    expect(third).not.toBe(first);
  });

  it("has its failed runs retried, each once", async () => {
    server.on("POST /runs/*/retry", run());
    const { user } = await openOn({ state: "failed", runs: { succeeded: 7, failed_user: 2 } });
    server.on("GET /runs", { items: [runSummary(3), runSummary(5)], next_cursor: null });
    await user.click(await option(/^Retry the failed runs/));
    expect(await screen.findByText(/another attempt of the 2 runs that failed/)).toBeVisible();
    await user.click(screen.getByTestId("palette-confirm"));
    await waitFor(() =>
      expect(server.askedFor("POST /runs/*/retry").map(({ path }) => path)).toEqual([
        expect.stringContaining("run_3"),
        expect.stringContaining("run_5"),
      ]),
    );
  });

  it("gets further seeds by the window of its page", async () => {
    const { user, address } = await openOn({
      ...{ state: "succeeded", runs: { succeeded: 9 }, finished_at: "2026-01-01T00:00:00Z" },
    });
    await user.click(await option(/^Add seeds to this experiment/));
    expect(await screen.findByTestId("further-seeds")).toBeVisible();
    expect(address()).toBe("/experiments/exp_7?add=seeds");
    await user.click(screen.getByRole("button", { name: "Cancel" }));
    await waitFor(() => expect(address()).toBe("/experiments/exp_7"));
    expect(screen.queryByTestId("further-seeds")).toBeNull();
  });

  it.each([
    [/^Add seeds to this experiment/, "further-seeds", "Cancel"],
    [/^Rename this experiment/, "new-name", "Keep the name"],
  ])(
    "keeps its axis and its zoom while it is asked what is to be changed: %s",
    async (name, asked, leave) => {
      const view = "/experiments/exp_7?axis=samples&x=0.5_1.5";
      const ended = {
        state: "succeeded",
        runs: { succeeded: 9 },
        finished_at: "2026-01-01T00:00:00Z",
      } as const;
      const { user, address, router } = await openOn(ended, view);
      const steps = router.history.length;
      await user.click(await option(name));
      expect(await screen.findByTestId(asked)).toBeVisible();
      expect(router.state.location.search).toMatchObject({ axis: "samples", x: "0.5_1.5" });
      await user.click(screen.getByRole("button", { name: leave }));
      await waitFor(() => expect(address()).toBe(view));
      expect(router.history.length).toBe(steps);
    },
  );

  it("is deleted after a question, which leads home", async () => {
    server.on("DELETE /experiments/*", {} as never);
    const { user, address } = await openOn({ state: "succeeded", runs: { succeeded: 9 } });
    expect(screen.queryByRole("option", { name: /^Cancel/ })).toBeNull();
    await user.click(await option(/^Delete this experiment/));
    await user.click(await screen.findByTestId("palette-confirm"));
    await waitFor(() => expect(address()).toBe("/"));
    expect(server.askedFor("DELETE /experiments/*")).toHaveLength(1);
  });
});
