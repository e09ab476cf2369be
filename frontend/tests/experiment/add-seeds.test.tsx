import { act, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { lackingSeeds, roomFor } from "@/features/experiment/extending";
import type { ExperimentView } from "@/lib/client/types.gen";
import { comparison, experiment, ORIGIN, row, SPEC, speedUp } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";
import { answerExperiment, openExperiment } from "./page";

const server = apiServer();
beforeEach(() => answerExperiment(server));

const ENDED: Partial<ExperimentView> = {
  ...{ state: "succeeded", runs: { succeeded: 15 }, finished_at: "2026-05-01T12:00:00Z", version: 1 },
};

describe("room for seeds", () => {
  it("is there once an experiment has ended: one run for each row of the comparison", () => {
    const rows = comparison().rows.length;
    expect(roomFor(experiment(ENDED), comparison())).toEqual({ runs: rows, next: 3, most: 97 });
    const later = { ...SPEC, first_seed: 10, clusters: [{ name: "local", seeds: 99 }] };
    expect(roomFor(experiment({ ...ENDED, spec: later }), comparison())).toMatchObject({
      next: 109,
      most: 1,
    });
  });

  it.each<[string, Partial<ExperimentView>]>([
    ["runs", { state: "running", finished_at: null }],
    ["was imported", { origin: ORIGIN }],
    ["is archived", { archived: true }],
    ["has as many seeds as there may be", { spec: { ...SPEC, clusters: [{ name: "local", seeds: 100 }] } }],
  ])("is not there when it %s", (_, changes) => {
    expect(roomFor(experiment({ ...ENDED, ...changes }), comparison())).toBeUndefined();
  });

  it("is proposed where a verdict says how many would show more", () => {
    const needs = (needed: number | null, pairs = 3) =>
      row("Sync EASGD", { speed_up: speedUp({ claim: "not shown", seeds_needed: needed, pairs }) });
    expect(lackingSeeds([needs(null)])).toBeUndefined();
    expect(lackingSeeds([needs(8), needs(5), needs(null)])).toEqual({ needed: 8, more: 5 });
  });
});

describe("adding seeds", () => {
  const open = async (changes: Partial<ExperimentView> = {}) => {
    server.on("GET /experiments/*", experiment({ ...ENDED, ...changes }));
    return openExperiment(server);
  };

  it("says how many runs they are, and sends the number with the version that it is about", async () => {
    const { user } = await open();
    await user.click(screen.getByTestId("add-seeds"));
    const window = await screen.findByRole("dialog", { name: "Add seeds to this experiment" });
    const field = within(window).getByLabelText("Additional seeds per variant");
    await user.clear(field);
    expect(within(window).getByTestId("extend")).toBeDisabled();
    await user.type(field, "4");
    const runs = 4 * comparison().rows.length;
    expect(within(window).getByTestId("further-runs")).toHaveTextContent(
      `${runs} additional runs, seeds 3 to 6.`,
    );
    const extended = experiment({ state: "running", runs: { succeeded: 15, queued: runs }, version: 2 });
    server.on("POST /experiments/*/extension", extended).on("GET /experiments/*", extended);
    await user.click(within(window).getByTestId("extend"));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(server.askedFor("POST /experiments/*/extension")[0]?.body).toEqual({ seeds: 4, version: 1 });
    expect(screen.getByTestId("version")).toHaveTextContent("version 2");
    expect(screen.queryByTestId("add-seeds")).toBeNull();
  });

  it("is not asked for any more by an address that came too early", async () => {
    server.on("GET /experiments/*", experiment({ state: "running", finished_at: null }));
    const { address, queries } = await openExperiment(server, "/experiments/exp_7?add=seeds&axis=samples");
    await waitFor(() => expect(address()).toBe("/experiments/exp_7?axis=samples"));
    server.on("GET /experiments/*", experiment(ENDED));
    await act(() => queries.invalidateQueries());
    expect(await screen.findByTestId("add-seeds")).toBeVisible();
    expect(screen.queryByTestId("further-seeds")).toBeNull();
  });

  it("says why none were added", async () => {
    const { user } = await open();
    server.on("POST /experiments/*/extension", new Refusal(409, "It is archived."));
    await user.click(screen.getByTestId("add-seeds"));
    await user.click(await screen.findByTestId("extend"));
    expect(await screen.findByRole("alert")).toHaveTextContent(
      "The seeds could not be added. It is archived.",
    );
  });

  it("proposes what would show more beside the verdict, and says of added seeds what they mean", async () => {
    const open_ = speedUp({ claim: "not shown", low: 0.8, seeds_needed: 8 });
    const rows = comparison().rows.map((each) =>
      each.variant === "Sync EASGD" ? { ...each, speed_up: open_ } : each,
    );
    server.on("GET /experiments/*/comparison", comparison({ rows, extended: "Seeds were added." }));
    const { user } = await open();
    expect(screen.getByTestId("lacking-seeds")).toHaveTextContent("About 8 seeds would show a ratio of 1.3.");
    expect(screen.getByTestId("extended")).toHaveTextContent("Seeds were added.");
    await user.click(screen.getByRole("button", { name: "Add 5 seeds" }));
    expect(await screen.findByLabelText("Additional seeds per variant")).toHaveValue("5");
  });
});
