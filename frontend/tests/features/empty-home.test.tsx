import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { summary } from "../support/fixtures/experiment";
import { apiServer } from "../support/server";

const server = apiServer();
const ended = (number: number): ExperimentSummary =>
  summary(number, { state: "succeeded", runs: { succeeded: 9 } });
const none = { items: [], next_cursor: null };

describe("a home without experiments", () => {
  it("leads to what is archived or deleted", async () => {
    server.on("GET /experiments", ({ query }) =>
      query.get("filter") === "archived" ? { items: [ended(7)], next_cursor: null } : none,
    );
    const { user, address } = openApp(server, "/");
    await user.click(await screen.findByRole("link", { name: "Archived experiments" }));
    expect(await screen.findByText("Comparison 7")).toBeVisible();
    expect(address()).toBe("/?filter=archived");
    expect(screen.getByTestId("filter")).toHaveValue("archived");
  });

  it("is left and come back to by the list of deleted ones", async () => {
    server.on("GET /experiments", none).on("GET /deleted-experiments", none);
    const { user, address } = openApp(server, "/");
    await user.click(await screen.findByRole("link", { name: "Deleted experiments" }));
    expect(await screen.findByRole("heading", { level: 1, name: "Deleted experiments" })).toBeVisible();
    expect(address()).toBe("/?show=deleted");
    await user.click(screen.getByRole("link", { name: "All experiments" }));
    expect(await screen.findByTestId("empty")).toBeVisible();
  });
});

describe("the selection", () => {
  it("is what is checked, and goes when it is cleared", async () => {
    server.on("GET /experiments", { items: [ended(8), ended(7)], next_cursor: null });
    const { user } = openApp(server, "/");
    const [first, second] = [8, 7].map((number) => `Select Comparison ${number}`);
    await user.click(await screen.findByRole("checkbox", { name: first }));
    await user.click(screen.getByRole("checkbox", { name: second }));
    await screen.findByTestId("selection");
    const bar = () => within(screen.getByTestId("selection"));
    expect(bar().getByText("2 selected")).toBeVisible();
    await user.click(screen.getByRole("checkbox", { name: first }));
    expect(bar().getByText("1 selected")).toBeVisible();
    expect(screen.getAllByTestId("experiment-item").map((item) => item.dataset.chosen)).toEqual([
      "false",
      "true",
    ]);
    await user.click(bar().getByRole("button", { name: "Clear" }));
    await waitFor(() => expect(screen.queryByTestId("selection")).toBeNull());
  });
});
