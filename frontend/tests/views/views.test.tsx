import { act, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { SavedView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { copied } from "../support/clipboard";
import { CATALOGUE } from "../support/fixtures/catalogue";
import { summary } from "../support/fixtures/experiment";
import { savedView } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const STARRED = savedView("viw_1", "Starred", "/?filter=starred");
const RATIOS = savedView("viw_2", "Ratios", "/compare?sort=time");

beforeEach(() => {
  server.on("GET /experiments", { items: [summary(7)], next_cursor: null });
});

async function open(address: string, ...items: SavedView[]) {
  server.on("GET /views", { items });
  const app = openApp(server, address);
  await screen.findAllByTestId("experiment-item");
  await app.idle(); // the views are there, too
  return app;
}

type User = Awaited<ReturnType<typeof open>>["user"];

async function menu(user: User) {
  await user.click(screen.getByTestId("views"));
  return within(await screen.findByRole("menu"));
}

async function manage(user: User) {
  await user.click((await menu(user)).getByRole("menuitem", { name: "Rename, delete, share…" }));
  await screen.findByRole("dialog", { name: "Saved views" });
  return (name: string) =>
    within(
      screen.getAllByTestId("saved-view").find((row) => row.textContent?.startsWith(name)) as HTMLElement,
    );
}

async function save(user: User, name: string) {
  await user.click((await menu(user)).getByRole("menuitem", { name: "Save this view…" }));
  const field = await screen.findByRole("textbox", { name: "Name" });
  await user.type(field, name);
  return screen.getByTestId("save-view");
}

describe("a view is saved", () => {
  it("as the address of what is shown, under a name, and then stands in the menu", async () => {
    const { user } = await open("/?filter=starred");
    const button = await save(user, " Starred ");
    expect(button).toHaveTextContent("Save");
    server.on("POST /views", STARRED).on("GET /views", { items: [STARRED] });
    await user.keyboard("{Enter}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(server.askedFor("POST /views").map(({ body }) => body)).toEqual([
      { name: "Starred", path: "/?filter=starred" },
    ]);
    const item = (await menu(user)).getByRole("menuitem", { name: /^Starred/ });
    expect(item).toHaveAttribute("aria-current", "page");
  });

  it("in place of another one of the same name, which is said before", async () => {
    const { user } = await open("/", STARRED);
    const button = await save(user, "Starred");
    expect(screen.getByText(/“Starred” exists and will be replaced/)).toBeVisible();
    expect(button).toHaveTextContent("Replace");
    server.on("PATCH /views/*", { ...STARRED, path: "/" });
    await user.click(button);
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(server.askedFor("PATCH /views/*").map(({ path, body }) => [path, body])).toEqual([
      ["/api/v1/views/viw_1", { path: "/" }],
    ]);
  });

  it("not without a name; a refusal is told in the server's words, and what was typed stays", async () => {
    const { user } = await open("/");
    const button = await save(user, "  ");
    expect(button).toBeDisabled();
    server.on("POST /views", new Refusal(409, "you have 100 saved views, the maximum: delete one"));
    await user.type(screen.getByTestId("view-name"), "One more");
    await user.click(button);
    expect(await screen.findByRole("alert")).toHaveTextContent("the maximum");
    expect(screen.getByTestId("view-name")).toHaveValue("  One more");
    await user.type(screen.getByTestId("view-name"), "!");
    expect(screen.queryByRole("alert")).toBeNull();
  });
});

describe("a saved view", () => {
  it("is opened from the menu, those of this page first, and Back leads back", async () => {
    const { user, address, router } = await open("/", RATIOS, STARRED);
    const items = (await menu(user)).getAllByRole("menuitem").map((item) => item.textContent);
    expect(items.slice(-2)).toEqual(["StarredExperiments", "RatiosCompare"]);
    await user.click(screen.getByRole("menuitem", { name: /^Ratios/ }));
    expect(await screen.findByRole("heading", { name: "Compare" })).toBeVisible();
    expect(address()).toBe("/compare?sort=time");
    act(() => router.history.back());
    await waitFor(() => expect(address()).toBe("/"));
  });

  it("is found in the command palette by its name", async () => {
    server.on("GET /algorithms", CATALOGUE).on("GET /clusters", { items: [] });
    const { user, address } = await open("/", RATIOS);
    await user.click(screen.getByTestId("open-palette"));
    await user.type(await screen.findByRole("combobox", { name: "Search" }), "rati");
    const option = await screen.findByRole("option", { name: /^Ratios/ });
    expect(option).toHaveTextContent("view, Compare");
    await user.click(option);
    await waitFor(() => expect(address()).toBe("/compare?sort=time"));
  });

  it("is shared by its link", async () => {
    const { user } = await open("/?filter=starred", STARRED);
    await user.click((await menu(user)).getByRole("menuitem", { name: "Copy the link to this view" }));
    await waitFor(() => expect(screen.getByTestId("views")).toHaveTextContent("Link copied"));
    expect(await copied()).toBe(`${window.location.origin}/?filter=starred`);
  });

  it("offers no copying where the browser does not allow it", async () => {
    const { user } = await open("/", STARRED);
    vi.spyOn(navigator, "clipboard", "get").mockReturnValue(undefined as never);
    const row = await manage(user);
    expect(row("Starred").queryByRole("button", { name: /^Copy/ })).toBeNull();
    expect(row("Starred").getByRole("link", { name: "Starred" })).toHaveAttribute("href", STARRED.path);
  });

  it("is renamed; Escape leaves the old name and the window open", async () => {
    const { user } = await open("/", STARRED);
    const row = await manage(user);
    await user.click(row("Starred").getByRole("button", { name: "Rename Starred" }));
    const field = () => screen.getByRole("textbox", { name: "New name of Starred" });
    expect(field()).toHaveFocus();
    await user.type(field(), "x{Escape}");
    expect(screen.getByRole("dialog", { name: "Saved views" })).toBeVisible();
    await user.click(row("Starred").getByRole("button", { name: "Rename Starred" }));
    const renamed = { ...STARRED, name: "Marked" };
    server.on("PATCH /views/*", renamed).on("GET /views", { items: [renamed] });
    await user.clear(field());
    await user.type(field(), "Marked{Enter}");
    expect(await screen.findByRole("link", { name: "Marked" })).toHaveAttribute("href", "/?filter=starred");
    expect(server.askedFor("PATCH /views/*").map(({ body }) => body)).toEqual([{ name: "Marked" }]);
  });

  it("is deleted after a question", async () => {
    const { user } = await open("/", STARRED, RATIOS);
    const row = await manage(user);
    await user.click(row("Ratios").getByRole("button", { name: "Delete Ratios" }));
    expect(server.askedFor("DELETE /views/*")).toEqual([]);
    server.on("DELETE /views/*", {}).on("GET /views", { items: [STARRED] });
    await user.click(await screen.findByTestId("delete-view-confirm"));
    await waitFor(() => expect(screen.getAllByTestId("saved-view")).toHaveLength(1));
    expect(server.askedFor("DELETE /views/*").map(({ path }) => path)).toEqual(["/api/v1/views/viw_2"]);
  });

  it("that cannot be listed is said, and the page works", async () => {
    server.on("GET /experiments", { items: [summary(7)], next_cursor: null });
    server.on("GET /views", new Refusal(500, "No table."));
    const { user } = openApp(server, "/");
    await screen.findAllByTestId("experiment-item");
    await waitFor(() => expect(server.askedFor("GET /views").length).toBeGreaterThan(2));
    expect(
      await (await menu(user)).findByText("The saved views could not be loaded. Try again"),
    ).toBeVisible();
  });
});
