import { screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { openApp } from "../support/app";
import { experiment, summary } from "../support/fixtures/experiment";
import { apiServer } from "../support/server";

const server = apiServer();
const list = () => server.on("GET /experiments", { items: [summary(7)], next_cursor: null });

describe("what opens above the page", () => {
  it("a menu belongs to the main content, and its first item has the focus", async () => {
    list();
    const { user } = openApp(server, "/");
    await user.click(await screen.findByRole("button", { name: "Actions for Comparison 7" }));
    const menu = await screen.findByRole("menu");
    expect(screen.getByRole("main")).toContainElement(menu);
    await waitFor(() => expect(screen.getByRole("menuitem", { name: "Tags and note" })).toHaveFocus());
    await user.keyboard("{ArrowDown}");
    expect(screen.getByRole("menuitem", { name: "Clone" })).toHaveFocus();
    expect(menu.querySelector("[role=presentation]")).toBeNull();
  });

  it("a dialog belongs to it, and closes by keyboard", async () => {
    list();
    server.on("GET /experiments/*", experiment());
    const { user } = openApp(server, "/");
    await user.click(await screen.findByRole("button", { name: "Actions for Comparison 7" }));
    await user.click(await screen.findByRole("menuitem", { name: "Tags and note" }));
    const dialog = await screen.findByRole("dialog", { name: "Tags and note" });
    expect(screen.getByRole("main")).toContainElement(dialog);
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  it("the menu of the header, too", async () => {
    list();
    const { user } = openApp(server, "/");
    await user.click(await screen.findByTestId("person"));
    expect(screen.getByRole("main")).toContainElement(await screen.findByRole("menu"));
  });
});
