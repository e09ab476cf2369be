import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { summary } from "../support/fixtures/experiment";
import { rowsAre } from "../support/layout";
import { apiServer } from "../support/server";

const server = apiServer();
const ids = () => screen.getAllByTestId("experiment-item").map((item) => item.dataset.id);
const limits = () => server.askedFor("GET /experiments").map(({ query }) => query.get("limit"));
const sort = (name: string | RegExp) =>
  within(screen.getByRole("group", { name: "Sort by" })).getByRole("button", { name });

function list(...items: ExperimentSummary[]) {
  server.on("GET /experiments", { items, next_cursor: null });
}

describe("sorting", () => {
  it("is done by keyboard, told, kept in the address, and turned around", async () => {
    list(summary(3, { name: "b" }), summary(2, { name: "c" }), summary(1, { name: "a" }));
    const { user, address } = openApp(server, "/");
    await screen.findAllByTestId("experiment-item");
    expect(sort("Added, newest first")).toHaveAttribute("aria-pressed", "true");
    sort("Name").focus();
    await user.keyboard("{Enter}");
    await waitFor(() => expect(ids()).toEqual(["exp_1", "exp_3", "exp_2"]));
    expect(address()).toBe("/?sort=name");
    expect(sort("Name, A to Z")).toHaveFocus();
    await user.keyboard(" ");
    await waitFor(() => expect(ids()).toEqual(["exp_2", "exp_3", "exp_1"]));
    expect(address()).toBe("/?sort=-name");
    await user.click(sort("Added"));
    await waitFor(() => expect(ids()).toEqual(["exp_3", "exp_2", "exp_1"]));
    expect(address()).toBe("/");
  });

  it("is of all that fit, not of those that were read; the filter keeps it", async () => {
    const old = summary(1, { name: "a, the first" });
    server.on("GET /experiments", ({ query }) =>
      query.get("cursor") === "older"
        ? { items: [old], next_cursor: null }
        : { items: [summary(3, { name: "b" }), summary(2, { name: "c" })], next_cursor: "older" },
    );
    const { user, address } = openApp(server, "/?sort=name");
    await waitFor(() => expect(ids()).toEqual(["exp_1", "exp_3", "exp_2"]));
    expect(screen.queryByRole("button", { name: "Load more" })).toBeNull();
    expect(new Set(limits())).toEqual(new Set(["500"]));
    await user.type(screen.getByTestId("filter"), "starred{Enter}");
    await waitFor(() => expect(address()).toBe("/?sort=name&filter=starred"));
  });

  it("by what has no column keeps its button", async () => {
    list(summary(1));
    openApp(server, "/?sort=-duration");
    await screen.findByTestId("experiment-item");
    expect(sort("Duration, longest first")).toHaveAttribute("aria-pressed", "true");
  });

  it("of a long list draws those in view", async () => {
    rowsAre(140);
    list(...Array.from({ length: 250 }, (_, i) => summary(i + 1, { name: `Comparison ${i + 1}` })));
    openApp(server, "/?sort=-name");
    await waitFor(() => expect(ids()[0]).toBe("exp_250"));
    await waitFor(() => expect(ids().length).toBeLessThan(60));
    await waitFor(() => {
      expect(screen.getAllByTestId("experiment-item")[0]).toHaveAttribute("aria-setsize", "250");
    });
  });
});

describe("columns", () => {
  it("are switched on and off by keyboard, and kept in the address", async () => {
    list(summary(1, { project: "vision", headlines: ["No verdict on local"] }));
    const { user, address } = openApp(server, "/");
    await screen.findByTestId("experiment-item");
    screen.getByTestId("columns").focus();
    await user.keyboard("{Enter}");
    const verdict = await screen.findByRole("menuitemcheckbox", { name: "Verdict" });
    await waitFor(() => expect(verdict).toHaveFocus());
    expect(verdict).toHaveAttribute("aria-checked", "true");
    await user.keyboard("{Enter}");
    await waitFor(() => expect(screen.queryByTestId("answer")).toBeNull());
    await user.click(screen.getByRole("menuitemcheckbox", { name: "Project" }));
    await waitFor(() => expect(address()).toBe("/?columns=variants.project.curve.state.progress"));
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("menu")).toBeNull());
    await waitFor(() => expect(screen.getByTestId("columns")).toHaveFocus());
    const item = within(screen.getByTestId("experiment-item"));
    expect(item.getAllByText("vision")).toHaveLength(1); // in its column, and no longer below the name
    expect(sort("Project")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Verdict" })).toBeNull();
  });

  it("come from the address, and a saved view", async () => {
    list(summary(1, { user: "ana" }));
    const { router } = openApp(server, "/?columns=user.duration");
    const item = within(await screen.findByTestId("experiment-item"));
    expect(item.getByText("Duration").parentElement).toHaveTextContent(/^Duration\d+ min \d\d s$/);
    expect(item.getByText("ana")).toBeVisible();
    expect(item.queryByText("Original EASGD")).toBeNull(); // the variants
    expect(item.queryByRole("img")).toBeNull();
    expect(item.queryByText("running")).toBeNull();
    expect(router.state.location.searchStr).toBe("?columns=user.duration");
  });
});
