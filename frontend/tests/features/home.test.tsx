import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { DeletedExperiment, ExperimentSummary } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { experiment, summary } from "../support/fixtures/experiment";
import { FIELDS } from "../support/fixtures/filters";
import { rowsAre } from "../support/layout";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const page = (...items: ExperimentSummary[]) => ({ items, next_cursor: null });
const ended = (number: number, changes: Partial<ExperimentSummary> = {}) =>
  summary(number, { state: "succeeded", runs: { succeeded: 9 }, ...changes });

function gone(number: number): DeletedExperiment {
  return {
    id: `exp_${number}`,
    number,
    name: `Comparison ${number}`,
    workload: "digits-mlp",
    created_at: "2026-05-01T12:00:00Z",
    deleted_at: new Date(Date.now() - 125_000).toISOString(),
    deleted_by: "owner",
    purge_at: "2026-06-08T12:00:00Z",
  };
}

const ids = () => screen.getAllByTestId("experiment-item").map((item) => item.dataset.id);
const filters = () => server.askedFor("GET /experiments").map(({ query }) => query.get("filter"));

describe("one line of the list", () => {
  it("tells the answer, tags, the first line of the note, and marks", async () => {
    const item = ended(7, {
      headlines: ["Fastest on local: Sync EASGD, 2.7× (1.9 to 3.8)", "No verdict on 10gbe"],
      tags: ["paper", "two words"],
      note_line: "Why rho matters",
      protected: true,
    });
    server.on("GET /experiments", page(item));
    openApp(server, "/");
    expect(await screen.findByTestId("answer")).toHaveTextContent(
      "Fastest on local: Sync EASGD, 2.7× (1.9 to 3.8) and 1 more",
    );
    expect(screen.getByText("Why rho matters")).toBeVisible();
    expect(screen.getByText("protected")).toBeVisible();
    expect(screen.queryByText(/verdict ready/)).toBeNull();
    const address = screen.getByRole("link", { name: "two words" }).getAttribute("href") ?? "";
    expect(new URL(address, "http://x").searchParams.get("filter")).toContain("two words");
  });

  it("leads to a copy of it", async () => {
    server.on("GET /experiments", page(summary(7)));
    const { user } = openApp(server, "/");
    await user.click(await screen.findByTestId("item-menu"));
    expect(await screen.findByRole("menuitem", { name: "Clone" })).toHaveAttribute(
      "href",
      "/new?clone=exp_7",
    );
  });

  it("is starred with one click, without a word", async () => {
    server.on("GET /experiments", page(ended(7)));
    server.on("PATCH /experiments/*", experiment({ starred: true }));
    const { user } = openApp(server, "/");
    const star = await screen.findByRole("button", { name: "Star Comparison 7" });
    server.on("GET /experiments", page(ended(7, { starred: true })));
    await user.click(star);
    expect(await screen.findByRole("button", { name: "Remove the star of Comparison 7" })).toHaveAttribute(
      "aria-pressed",
      "true",
    );
    expect(server.askedFor("PATCH /experiments/*").map(({ body }) => body)).toEqual([{ starred: true }]);
    expect(screen.queryByTestId("outcome")).toBeNull();
  });
});

describe("the filter", () => {
  it("comes from the address, and goes there", async () => {
    server.on("GET /experiments", page(ended(7)));
    const { user, address } = openApp(server, "/?filter=starred");
    expect(await screen.findByTestId("filter")).toHaveValue("starred");
    await screen.findByText("Comparison 7");
    expect(new Set(filters())).toEqual(new Set(["starred"]));
    await user.clear(screen.getByTestId("filter"));
    await user.type(screen.getByTestId("filter"), "state = running{Enter}");
    await waitFor(() => expect(filters().at(-1)).toBe("state = running"));
    expect(decodeURIComponent(address()).replaceAll("+", " ")).toBe("/?filter=state = running");
    await user.click(screen.getByRole("button", { name: "Show all experiments" }));
    await waitFor(() => expect(filters().at(-1)).toBeNull());
    expect(address()).toBe("/");
  });

  it("says below what cannot be read, and keeps what was shown", async () => {
    const words = "column 9: state is never 'runing'; did you mean running?";
    server.on("GET /experiments", ({ query }) =>
      query.get("filter")
        ? new Refusal(422, "the filter cannot be read", [{ pointer: "query/filter", message: words }])
        : page(ended(7)),
    );
    const { user, live } = openApp(server, "/");
    await screen.findByText("Comparison 7");
    await live();
    await user.type(screen.getByTestId("filter"), "state = runing{Enter}");
    expect(await screen.findByText(words)).toBeVisible();
    expect(screen.getByTestId("filter")).toBeInvalid();
    expect(screen.queryByRole("alert")).toBeNull();
    expect(ids()).toEqual(["exp_7"]);
    const asked = filters().length;
    server.send("experiment", { id: "exp_7" }, 7);
    await new Promise((over) => setTimeout(over, 1700)); // longer than the list pauses
    expect(filters(), "asked again, it would say the same").toHaveLength(asked);
    await user.clear(screen.getByTestId("filter"));
    await waitFor(() => expect(screen.queryByText(words)).toBeNull());
  });

  it("is completed by keyboard", async () => {
    server.on("GET /experiments", page(ended(7))).on("GET /filter-fields", { fields: FIELDS });
    const { user } = openApp(server, "/");
    const input = await screen.findByTestId("filter");
    await screen.findByText("Comparison 7");
    await user.type(input, "sta");
    expect(await screen.findByRole("option", { name: /^state/ })).toBeInTheDocument();
    await user.keyboard("{ArrowDown}{Enter}");
    expect(input).toHaveValue("state ");
    await user.keyboard("= r");
    await user.keyboard("{ArrowDown}");
    fireEvent(input, new InputEvent("beforeinput", { inputType: "insertLineBreak", cancelable: true })); // of a phone
    expect(input).toHaveValue("state = running ");
    await waitFor(() => expect(filters().at(-1)).toBe("state = running"));
  });

  it("offers to show all where nothing fits", async () => {
    server.on("GET /experiments", ({ query }) => (query.get("filter") ? page() : page(ended(7))));
    const { user } = openApp(server, "/?filter=archived");
    const nothing = within(await screen.findByTestId("nothing-fits"));
    await user.click(nothing.getByRole("button", { name: "Show all" }));
    expect(await screen.findByText("Comparison 7")).toBeVisible();
  });
});

describe("deleting", () => {
  async function menu(user: ReturnType<typeof openApp>["user"], name: string) {
    await user.click(await screen.findByRole("button", { name: `Actions for ${name}` }));
    return within(await screen.findByRole("menu"));
  }

  it("is done at once, told, and undone", async () => {
    server.on("GET /experiments", page(ended(8), ended(7)));
    server.on("DELETE /experiments/*", gone(7));
    server.on("POST /experiments/*/restore", experiment());
    const { user } = openApp(server, "/");
    const items = await menu(user, "Comparison 7");
    server.on("GET /experiments", page(ended(8)));
    await user.click(items.getByRole("menuitem", { name: "Delete" }));
    expect(await screen.findByTestId("outcome")).toHaveTextContent("“Comparison 7” is deleted.");
    await waitFor(() => expect(ids()).toEqual(["exp_8"]));
    server.on("GET /experiments", page(ended(8), ended(7)));
    await user.click(screen.getByTestId("undo"));
    await waitFor(() => expect(ids()).toEqual(["exp_8", "exp_7"]));
    expect(server.askedFor("POST /experiments/*/restore").map(({ path }) => path)).toEqual([
      "/api/v1/experiments/exp_7/restore",
    ]);
    expect(screen.queryByTestId("outcome")).toBeNull();
  });

  it("is not offered for what runs or is protected", async () => {
    server.on("GET /experiments", page(summary(8), ended(7, { protected: true })));
    const { user } = openApp(server, "/");
    const running = await menu(user, "Comparison 8");
    expect(running.getByRole("menuitem", { name: "Delete" })).toBeDisabled();
    expect(running.getByRole("menuitem", { name: "Cancel its runs" })).toBeEnabled();
  });

  it("of several says what was refused, and why", async () => {
    server.on("GET /experiments", page(ended(9), ended(8), summary(7)));
    server.on("DELETE /experiments/*", ({ path }) =>
      path.endsWith("exp_8")
        ? new Refusal(409, "experiment 9 continues the tuning of experiment 8")
        : gone(9),
    );
    const { user } = openApp(server, "/");
    for (const number of [9, 8, 7])
      await user.click(await screen.findByRole("checkbox", { name: `Select Comparison ${number}` }));
    const bar = within(await screen.findByTestId("selection"));
    expect(bar.getByText("3 selected")).toBeVisible();
    await user.click(bar.getByRole("button", { name: "Delete 2" }));
    const outcome = await screen.findByTestId("outcome");
    expect(outcome).toHaveTextContent("“Comparison 9” is deleted.");
    expect(outcome).toHaveTextContent("#8: experiment 9 continues the tuning of experiment 8");
    expect(screen.queryByTestId("selection")).toBeNull();
  });

  it("leaves a list from which it can be restored", async () => {
    server.on("GET /deleted-experiments", { items: [gone(7)], next_cursor: null });
    server.on("POST /experiments/*/restore", experiment());
    const { user } = openApp(server, "/?show=deleted");
    const item = within(await screen.findByTestId("deleted-item"));
    expect(item.getByText("deleted by owner 2 min ago")).toBeVisible();
    expect(item.getByText(/^can be restored until/)).toBeVisible();
    server.on("GET /deleted-experiments", { items: [], next_cursor: null });
    await user.click(item.getByRole("button", { name: "Restore Comparison 7" }));
    expect(await screen.findByText("No deleted experiments.")).toBeVisible();
    expect(screen.getByTestId("outcome")).toHaveTextContent("“Comparison 7” is restored.");
  });
});

describe("the archive", () => {
  it("takes several experiments at once, and gives them back", async () => {
    server.on("GET /experiments", page(ended(8), ended(7)));
    server.on("PATCH /experiments/*", experiment({ archived: true }));
    const { user } = openApp(server, "/");
    for (const number of [8, 7])
      await user.click(await screen.findByRole("checkbox", { name: `Select Comparison ${number}` }));
    await user.click(await screen.findByTestId("selected-archive"));
    expect(await screen.findByTestId("outcome")).toHaveTextContent("2 experiments are archived.");
    await user.click(screen.getByTestId("undo"));
    await waitFor(() => expect(server.askedFor("PATCH /experiments/*")).toHaveLength(4));
    expect(server.askedFor("PATCH /experiments/*").map(({ body }) => body)).toEqual([
      { archived: true },
      { archived: true },
      { archived: false },
      { archived: false },
    ]);
  });
});

describe("a long list", () => {
  const many = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => ended(from - i, { name: `Comparison ${from - i}` }));

  it("draws the experiments in view, each with its place among all that are known", async () => {
    rowsAre(140);
    server.on("GET /experiments", { items: many(300, 250), next_cursor: "more" });
    openApp(server, "/");
    await screen.findByTestId("draw-all");
    const items = screen.getAllByTestId("experiment-item");
    expect(items.length).toBeLessThan(60);
    expect(items[0]).toHaveAttribute("aria-posinset", "1");
    expect(items[0]).toHaveAttribute("aria-setsize", "-1"); // the server has more
    expect(screen.getByRole("button", { name: "Draw all 250 experiments" })).toBeVisible();
    expect(screen.getByRole("button", { name: "Load more" })).toBeVisible();
  });
});
