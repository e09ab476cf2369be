import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { experiment, summary } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const ended = (number: number, changes: Partial<ExperimentSummary> = {}) =>
  summary(number, { state: "succeeded", runs: { succeeded: 9 }, ...changes });
const list = (...items: ExperimentSummary[]) => server.on("GET /experiments", { items, next_cursor: null });
const changed = () => server.askedFor("PATCH /experiments/*").map(({ path }) => path.split("/").at(-1));

async function archive(...numbers: number[]) {
  const app = openApp(server, "/");
  for (const number of numbers)
    await app.user.click(await screen.findByRole("checkbox", { name: `Select Comparison ${number}` }));
  await app.user.click(await screen.findByTestId("selected-archive"));
  return { ...app, outcome: await screen.findByTestId("outcome") };
}

describe("undo", () => {
  it("takes back only what was done, not what was refused", async () => {
    list(ended(9), ended(8));
    server.on("PATCH /experiments/*", ({ path }) =>
      path.endsWith("exp_9") ? new Refusal(404, "it was deleted") : experiment(),
    );
    const { user, outcome } = await archive(9, 8);
    expect(outcome).toHaveTextContent("“Comparison 8” is archived.");
    await user.click(within(outcome).getByTestId("undo"));
    await waitFor(() => expect(changed()).toEqual(["exp_9", "exp_8", "exp_8"]));
  });

  it("that is refused says so, and why", async () => {
    list(ended(7));
    server.on("PATCH /experiments/*", ({ body }) =>
      (body as { archived: boolean }).archived ? experiment() : new Refusal(409, "retention holds it"),
    );
    const { user } = await archive(7);
    await user.click(screen.getByTestId("undo"));
    expect(await screen.findByText("The action could not be undone.")).toBeVisible();
    expect(screen.getByText("#7: retention holds it")).toBeVisible();
    expect(screen.queryByTestId("undo")).toBeNull();
  });
});

describe("a choice of several", () => {
  it("loses those that a filter takes from view", async () => {
    server.on("GET /experiments", ({ query }) => ({
      items: query.get("filter") ? [ended(8)] : [ended(8), ended(7)],
      next_cursor: null,
    }));
    const { user } = openApp(server, "/");
    for (const number of [8, 7])
      await user.click(await screen.findByRole("checkbox", { name: `Select Comparison ${number}` }));
    expect(await screen.findByText("2 selected")).toBeVisible();
    await user.type(screen.getByTestId("filter"), "starred{Enter}");
    expect(await screen.findByText("1 selected")).toBeVisible();
  });
});

describe("the address of the list", () => {
  it("is left for a tag at once, whatever was being typed", async () => {
    list(ended(7, { tags: ["paper"] }));
    const { user, address } = openApp(server, "/");
    const tag = await screen.findByRole("link", { name: "paper" });
    await user.type(screen.getByTestId("filter"), "state");
    await user.click(tag);
    await waitFor(() => expect(screen.getByTestId("filter")).toHaveValue("tag = paper"));
    await act(() => new Promise((done) => setTimeout(done, 450))); // longer than the pause after the last key
    expect(screen.getByTestId("filter")).toHaveValue("tag = paper");
    expect(address()).toContain("paper");
  });

  it("holds project, order and columns when a tag is clicked, and when the deleted ones are looked at", async () => {
    list(ended(7, { tags: ["paper"] }));
    server.on("GET /deleted-experiments", { items: [], next_cursor: null });
    const { user, address } = openApp(server, "/?filter=starred&project=vision&sort=-name&columns=state");
    await user.click(await screen.findByRole("link", { name: "paper" }));
    await waitFor(() => expect(screen.getByTestId("filter")).toHaveValue("tag = paper"));
    const kept = ["project=vision", "sort=-name", "columns=state"];
    for (const part of kept) expect(address()).toContain(part);
    await user.click(screen.getByRole("link", { name: "Deleted experiments" }));
    await user.click(await screen.findByRole("link", { name: "All experiments" }));
    await waitFor(() => expect(screen.getByTestId("filter")).toHaveValue("tag = paper"));
    for (const part of kept) expect(address()).toContain(part);
    expect(address()).not.toContain("show");
  });

  it("leads to what is deleted; back and forward hold the filter", async () => {
    list(ended(7));
    server.on("GET /deleted-experiments", { items: [], next_cursor: null });
    const { user, router } = openApp(server, "/?filter=starred");
    await user.click(await screen.findByRole("link", { name: "Deleted experiments" }));
    expect(await screen.findByRole("heading", { name: "Deleted experiments" })).toBeVisible();
    expect(screen.queryByTestId("filter")).toBeNull();
    act(() => router.history.back());
    expect(await screen.findByTestId("filter")).toHaveValue("starred");
    act(() => router.history.forward());
    expect(await screen.findByText("No deleted experiments.")).toBeVisible();
  });
});

it("a restore that is refused leaves the experiment in the list, and says why", async () => {
  const gone = {
    ...{ id: "exp_7", number: 7, name: "Comparison 7", workload: "digits-mlp" },
    ...{ created_at: "2026-05-01T12:00:00Z", deleted_at: "2026-05-02T12:00:00Z", deleted_by: "owner" },
    purge_at: "2026-05-09T12:00:00Z",
  };
  server.on("GET /deleted-experiments", { items: [gone], next_cursor: null });
  server.on("POST /experiments/*/restore", new Refusal(404, "experiment 7 is purged"));
  const { user } = openApp(server, "/?show=deleted");
  await user.click(await screen.findByRole("button", { name: "Restore Comparison 7" }));
  const outcome = await screen.findByTestId("outcome");
  expect(outcome).toHaveTextContent("Nothing was changed.");
  expect(outcome).toHaveTextContent("#7: experiment 7 is purged");
  expect(screen.getByTestId("deleted-item")).toBeVisible();
});
