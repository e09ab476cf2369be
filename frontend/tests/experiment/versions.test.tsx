import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { addedBy } from "@/features/experiment/versions";
import type { ExperimentVersion, ExperimentView } from "@/lib/client/types.gen";
import { experiment, SPEC } from "../support/fixtures/experiment";
import { me } from "../support/fixtures/people";
import { apiServer } from "../support/server";
import { answerExperiment, openExperiment } from "./page";

const server = apiServer();
beforeEach(() => answerExperiment(server));

const ENDED: Partial<ExperimentView> = {
  state: "succeeded",
  finished_at: "2026-05-01T12:00:00Z",
  version: 3,
};
const two = SPEC.variants.slice(0, 2);
const version = (number: number, spec: ExperimentVersion["spec"], user = "ada"): ExperimentVersion => ({
  ...{ version: number, spec, user, fingerprint: "f".repeat(64), created_at: "2026-05-01T12:00:00Z" },
});
const ITEMS = [
  version(1, { ...SPEC, variants: two }),
  version(2, { ...SPEC, variants: two, clusters: [{ name: "local", workers: [2], seeds: 5 }] }, "bob"),
  version(3, { ...SPEC, clusters: [{ name: "local", workers: [2], seeds: 6 }] }),
];

describe("what a version added", () => {
  it("is what it was submitted with, seeds, variants, or both", () => {
    expect(ITEMS.map((item, place) => addedBy(item, ITEMS[place - 1]))).toEqual([
      "submitted with 2 variants, 3 seeds",
      "2 more seeds, now 5 seeds",
      "1 variant: Hogwild EASGD; 1 more seed, now 6 seeds",
    ]);
  });

  it("names clusters where their numbers of seeds differ", () => {
    const clusters = [{ name: "local", seeds: 1 }, { name: "rack", seeds: 4 }, { name: "sim" }];
    const said = addedBy(version(1, { ...SPEC, clusters }), undefined);
    expect(said).toBe("submitted with 3 variants, 1 seed on local, 4 on rack, 3 on sim");
  });
});

describe("the versions on the page", () => {
  it("are listed with who added what, and each shows its specification", async () => {
    server.on("GET /experiments/*", experiment(ENDED)).on("GET /experiments/*/versions", { items: ITEMS });
    const { user, address } = await openExperiment(server);
    await user.click(screen.getByTestId("version"));
    const table = within(await screen.findByTestId("versions"));
    const rows = table.getAllByRole("row").slice(1);
    expect(rows.map((row) => within(row).getAllByRole("cell")[3]?.textContent)).toEqual([
      "ada",
      "bob",
      "ada",
    ]);
    expect(rows[2]).toHaveTextContent("version 3 (current)");
    await user.click(table.getByRole("link", { name: "version 2" }));
    const json = await screen.findByLabelText("Specification of version 2 as JSON");
    expect(JSON.parse(json.textContent ?? "")).toEqual(ITEMS[1]?.spec);
    expect(address()).toContain("versions=2");
    await user.click(screen.getByTestId("version"));
    await waitFor(() => expect(screen.queryByTestId("versions-part")).toBeNull());
    expect(address()).not.toContain("versions");
  });

  it("are not offered of one that was never extended", async () => {
    server.on("GET /experiments/*", experiment({ ...ENDED, version: 1 }));
    await openExperiment(server);
    expect(screen.queryByTestId("version")).toBeNull();
  });
});

describe("the way to the form for variants", () => {
  it("is there once the experiment has ended", async () => {
    server.on("GET /experiments/*", experiment(ENDED));
    await openExperiment(server);
    expect(screen.getByTestId("add-variants")).toHaveAttribute("href", "/new?extend=exp_7");
  });

  it("is not there while it runs", async () => {
    await openExperiment(server);
    expect(screen.queryByTestId("add-variants")).toBeNull();
  });

  it("is closed to those who may not, with the reason", async () => {
    server.on("GET /me", me("viewer")).on("GET /experiments/*", experiment(ENDED));
    await openExperiment(server);
    expect(await screen.findByRole("button", { name: "Add variants" })).toBeDisabled();
    expect(screen.queryByTestId("add-variants")).toBeNull();
  });
});
