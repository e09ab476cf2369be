import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { OutcomeNote } from "@/features/experiments/outcome-note";
import { experimentsSearch } from "@/features/experiments/search";
import { SelectionBar } from "@/features/experiments/selection-bar";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { openApp, show } from "../support/app";
import { experiment, summary } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const ended = (number: number, changes: Partial<ExperimentSummary> = {}) =>
  summary(number, { state: "succeeded", runs: { succeeded: 9 }, ...changes });
const list = (...items: ExperimentSummary[]) => server.on("GET /experiments", { items, next_cursor: null });
const changes = () => server.askedFor("PATCH /experiments/*").map(({ body }) => body);

describe("the address", () => {
  it.each([
    [{}, { filter: undefined, show: undefined }],
    [{ filter: "  starred " }, { filter: "starred", show: undefined }],
    [{ filter: 7 }, { filter: "7", show: undefined }],
    [
      { filter: ["x"], show: "all" },
      { filter: undefined, show: undefined },
    ],
    [{ show: "deleted" }, { filter: undefined, show: "deleted" }],
  ])("%o is read", (given, read) => {
    expect(experimentsSearch(given)).toEqual(read);
  });
});

describe("what can be done with several", () => {
  function open(...chosen: ExperimentSummary[]) {
    const doing = vi.fn();
    const clear = vi.fn();
    const view = show(<SelectionBar chosen={chosen} busy={false} act={doing} clear={clear} />);
    return { ...view, doing, clear };
  }

  it("is nothing without any", () => {
    open();
    expect(screen.queryByTestId("selection")).toBeNull();
  });

  it("is to cancel only those that have not ended, once that was confirmed", async () => {
    const running = summary(2);
    const { user, doing } = open(ended(1), running);
    await user.click(await screen.findByTestId("selected-cancel"));
    expect(await screen.findByText(/^Cancel the runs of one experiment that have not ended/)).toBeVisible();
    expect(doing).not.toHaveBeenCalled();
    await user.click(screen.getByTestId("selected-cancel-confirm"));
    expect(doing).toHaveBeenCalledExactlyOnceWith("cancel", [running]);
  });

  it("is to delete only those that have ended and are not protected", async () => {
    const free = ended(1);
    const { user, doing } = open(free, summary(2), ended(3, { protected: true }));
    await user.click(screen.getByRole("button", { name: "Delete 1" }));
    expect(doing).toHaveBeenCalledExactlyOnceWith("delete", [free]);
  });

  it("is to take them out of the archive where all are in it", async () => {
    const both = [ended(1, { archived: true }), ended(2, { archived: true })];
    const { user, doing, clear } = open(...both);
    expect(screen.queryByRole("button", { name: "Archive" })).toBeNull();
    await user.click(screen.getByRole("button", { name: "Unarchive" }));
    expect(doing).toHaveBeenCalledExactlyOnceWith("unarchive", both);
    await user.click(screen.getByRole("button", { name: "Clear" }));
    expect(clear).toHaveBeenCalledOnce();
  });
});

describe("what was done", () => {
  const outcome = { text: "Done.", failed: [], undo: () => undefined };

  it("is told for a while", () => {
    vi.useFakeTimers();
    const close = vi.fn();
    show(<OutcomeNote outcome={outcome} onClose={close} />);
    act(() => void vi.advanceTimersByTime(14_000));
    expect(close).not.toHaveBeenCalled();
    act(() => void vi.advanceTimersByTime(2000));
    expect(close).toHaveBeenCalledOnce();
  });

  it("stays where something went wrong, until it was read", () => {
    vi.useFakeTimers();
    const close = vi.fn();
    show(<OutcomeNote outcome={{ ...outcome, failed: ["#7: no"] }} onClose={close} />);
    act(() => void vi.advanceTimersByTime(60_000));
    expect(close).not.toHaveBeenCalled();
    expect(screen.getByText("#7: no")).toBeVisible();
  });

  it("cannot be undone where there is no way back", () => {
    show(<OutcomeNote outcome={{ ...outcome, undo: undefined }} onClose={() => undefined} />);
    expect(screen.queryByTestId("undo")).toBeNull();
  });
});

describe("the menu of an experiment", () => {
  async function choose(name: string, entry: string, ...items: ExperimentSummary[]) {
    list(...items);
    server.on("PATCH /experiments/*", experiment());
    const app = openApp(server, "/?filter=archived");
    await app.user.click(await screen.findByRole("button", { name: `Actions for ${name}` }));
    await app.user.click(await screen.findByRole("menuitem", { name: entry }));
    return app;
  }

  it.each<[string, Partial<ExperimentSummary>, object, string]>([
    ["Archive", {}, { archived: true }, "is archived."],
    ["Unarchive", { archived: true }, { archived: false }, "is unarchived."],
    ["Protect from deletion", {}, { protected: true }, "is protected."],
    ["Allow deletion", { protected: true }, { protected: false }, "is no longer protected."],
  ])("%s", async (entry, given, sent, words) => {
    await choose("Comparison 7", entry, ended(7, given));
    expect(await screen.findByTestId("outcome")).toHaveTextContent(`“Comparison 7” ${words}`);
    expect(changes()).toEqual([sent]);
  });

  it("cancels what runs only once that was confirmed, because it has no way back", async () => {
    server.on("POST /experiments/*/cancel", experiment({ state: "cancelled" }));
    const { user } = await choose("Comparison 7", "Cancel its runs", summary(7));
    expect(await screen.findByText(/^Cancel all runs of this experiment that have not ended/)).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Keep it going" }));
    expect(server.askedFor("POST /experiments/*/cancel")).toEqual([]);
    await user.click(screen.getByRole("button", { name: "Actions for Comparison 7" }));
    await user.click(await screen.findByRole("menuitem", { name: "Cancel its runs" }));
    await user.click(await screen.findByTestId("item-cancel-confirm"));
    expect(await screen.findByTestId("outcome")).toHaveTextContent("“Comparison 7” is being cancelled.");
    expect(screen.queryByTestId("undo")).toBeNull();
  });

  it("says why something was not done", async () => {
    list(ended(7));
    server.on("PATCH /experiments/*", new Refusal(404, "experiment 7 was deleted by owner"));
    const { user } = openApp(server, "/");
    await user.click(await screen.findByTestId("star"));
    const outcome = await screen.findByTestId("outcome");
    expect(outcome).toHaveTextContent("Nothing was changed.");
    expect(outcome).toHaveTextContent("#7: experiment 7 was deleted by owner");
    await user.click(within(outcome).getByRole("button", { name: "Dismiss" }));
    expect(screen.queryByTestId("outcome")).toBeNull();
  });
});

describe("typing in the search field", () => {
  it("is followed without a further key", async () => {
    list(ended(7));
    const { user } = openApp(server, "/");
    await screen.findByText("Comparison 7");
    await user.type(await screen.findByTestId("filter"), "starred");
    const last = () => server.askedFor("GET /experiments").at(-1)?.query.get("filter");
    await waitFor(() => expect(last()).toBe("starred"));
  });

  it("follows a tag that was clicked", async () => {
    list(ended(7, { tags: ["paper"] }));
    const { user } = openApp(server, "/");
    await user.click(await screen.findByRole("link", { name: "paper" }));
    await waitFor(() => expect(screen.getByTestId("filter")).toHaveValue("tag = paper"));
    const last = () => server.askedFor("GET /experiments").at(-1)?.query.get("filter");
    await waitFor(() => expect(last()).toBe("tag = paper"));
  });
});

describe("deleted experiments", () => {
  const gone = (number: number) => ({
    id: `exp_${number}`,
    number,
    name: `Comparison ${number}`,
    workload: "digits-mlp",
    created_at: "2026-05-01T12:00:00Z",
    deleted_at: "2026-05-02T12:00:00Z",
    deleted_by: "retention",
    purge_at: "2026-05-09T12:00:00Z",
  });

  it("are listed page by page, with who deleted them", async () => {
    server.on("GET /deleted-experiments", ({ query }) =>
      query.get("cursor")
        ? { items: [gone(1)], next_cursor: null }
        : { items: [gone(2)], next_cursor: "older" },
    );
    const { user } = openApp(server, "/?show=deleted");
    expect(await screen.findByText(/deleted by retention/)).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Load more" }));
    expect(await screen.findByText("Comparison 1")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Load more" })).toBeNull();
  });

  it("follow the stream", async () => {
    server.on("GET /deleted-experiments", { items: [], next_cursor: null });
    const { live } = openApp(server, "/?show=deleted");
    expect(await screen.findByText("No deleted experiments.")).toBeVisible();
    await live();
    server.on("GET /deleted-experiments", { items: [gone(3)], next_cursor: null });
    server.send("experiment", { id: "exp_3" }, 5);
    expect(await screen.findByText("Comparison 3")).toBeVisible();
  });

  it("that cannot be read say why", async () => {
    server.on("GET /deleted-experiments", new Refusal(404, "no such list"));
    openApp(server, "/?show=deleted");
    expect(await screen.findByRole("alert")).toHaveTextContent(
      "The experiments could not be loaded. no such list",
    );
  });
});
