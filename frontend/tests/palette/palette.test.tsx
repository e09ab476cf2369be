import { act, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { answerExperiment, openExperiment } from "../experiment/page";
import { openApp } from "../support/app";
import { algorithm, CATALOGUE, cluster } from "../support/fixtures/catalogue";
import { comparison, experiment, summary } from "../support/fixtures/experiment";
import { me } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const items = [summary(7, { name: "Digits, three ways" }), summary(6, { name: "Periods of Local SGD" })];

beforeEach(() => {
  server
    .on("GET /experiments", ({ query }) => {
      const filter = query.get("filter");
      const found = filter ? items.filter(({ name }) => name.toLowerCase().includes(filter.slice(7))) : items;
      return { items: found, next_cursor: null };
    })
    .on("GET /algorithms", { ...CATALOGUE, items: [algorithm("local-sgd", "Local SGD")] })
    .on("GET /clusters", { items: [cluster("local")] })
    .on("GET /clusters/*/tokens", { items: [] });
});

async function openPalette() {
  const app = openApp(server, "/");
  await screen.findAllByTestId("experiment-item");
  await app.user.click(screen.getByTestId("open-palette"));
  const field = await screen.findByRole("combobox", { name: "Search" });
  await waitFor(() => expect(field).toHaveFocus());
  return { ...app, field };
}

const option = (name: RegExp) => screen.findByRole("option", { name });
const current = (field: HTMLElement) =>
  document.getElementById(field.getAttribute("aria-activedescendant") ?? "")?.textContent;

describe("what is done with the experiment that is shown", () => {
  async function openOn(changes: Parameters<typeof experiment>[0]) {
    answerExperiment(server);
    server.on("GET /experiments/*", experiment(changes));
    const app = await openExperiment(server);
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

describe("the command palette", () => {
  it("shows what can be done, the pages and the latest experiments before anything is typed", async () => {
    const { field } = await openPalette();
    const list = screen.getByRole("listbox", { name: "Results" });
    expect(field).toHaveAttribute("aria-controls", list.id);
    expect(field).toHaveAttribute("aria-expanded", "true");
    await option(/Digits, three ways/);
    const groups = within(list).getAllByRole("group");
    expect(groups.map((group) => group.getAttribute("aria-label"))).toEqual([
      "Actions",
      "Pages",
      "Latest experiments",
    ]);
    expect(server.askedFor("GET /algorithms")).toEqual([]);
    expect(current(field)).toBe("New experiment");
  });

  it("is opened by its keys while a field has the focus, and gives the focus back", async () => {
    const { user } = openApp(server, "/");
    const filter = await screen.findByTestId("filter");
    await screen.findAllByTestId("experiment-item");
    await user.click(filter);
    await user.keyboard("{Control>}k{/Control}");
    await waitFor(() => expect(screen.getByRole("combobox", { name: "Search" })).toHaveFocus());
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByTestId("palette")).toBeNull());
    expect(filter).toHaveFocus();
    await user.keyboard("{Meta>}k{/Meta}");
    await screen.findByTestId("palette");
    await user.keyboard("{Meta>}k{/Meta}");
    await waitFor(() => expect(screen.queryByTestId("palette")).toBeNull());
    expect(filter).toHaveFocus();
    expect(filter).toHaveValue("");
  });

  it("begins anew each time", async () => {
    const { user, field } = await openPalette();
    await user.type(field, "leader");
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByTestId("palette")).toBeNull());
    expect(screen.getByTestId("open-palette")).toHaveFocus();
    await user.keyboard("{Enter}");
    expect(await screen.findByRole("combobox", { name: "Search" })).toHaveValue("");
  });

  it("goes by keys alone, and the page that opens has the focus", async () => {
    const { user, field, address } = await openPalette();
    await user.keyboard("clusters");
    await option(/^Clusters/);
    await waitFor(() => expect(current(field)).toMatch(/^Clusters/));
    await user.keyboard("{Enter}");
    expect(await screen.findByTestId("cluster-local")).toBeVisible();
    expect(address()).toBe("/clusters");
    expect(screen.getByRole("main")).toHaveFocus();
    expect(screen.queryByTestId("palette")).toBeNull();
  });

  it("moves through all groups, from the last entry to the first and back", async () => {
    const { user, field } = await openPalette();
    await option(/Periods of Local SGD/);
    await user.keyboard("{ArrowUp}");
    expect(current(field)).toMatch(/^Periods of Local SGD/);
    await user.keyboard("{ArrowDown}");
    expect(current(field)).toBe("New experiment");
    await user.keyboard("{ArrowDown}{ArrowDown}");
    expect(current(field)).toMatch(/^Experiments/);
    expect(screen.getAllByRole("option", { selected: true })).toHaveLength(1);
  });

  it("searches experiments on the server once nobody types, and algorithms by title", async () => {
    const { user, field, address } = await openPalette();
    await user.type(field, "local");
    const found = await option(/^Local SGD/);
    await waitFor(() =>
      expect(server.askedFor("GET /experiments").map(({ query }) => query.get("filter"))).toContain(
        "name ~ local",
      ),
    );
    expect(server.askedFor("GET /experiments").filter(({ query }) => query.get("filter"))).toHaveLength(1);
    expect(await option(/Periods of Local SGD/)).toBeVisible();
    expect(screen.queryByRole("option", { name: /Digits/ })).toBeNull();
    expect(await option(/^Queue of local/)).toBeVisible();
    await user.click(found);
    await waitFor(() => expect(address()).toBe("/algorithms/local-sgd"));
  });

  it("does not offer, while the answer is on its way, what no longer fits", async () => {
    const { user, field } = await openPalette();
    await option(/Digits, three ways/);
    server.on("GET /experiments", () => new Promise<never>(() => undefined));
    await user.type(field, "zzz");
    expect(within(screen.getByTestId("palette")).queryAllByRole("option")).toEqual([]);
    expect(screen.getByTestId("palette")).toHaveTextContent("Searching …");
    await user.keyboard("{Enter}");
    expect(screen.getByTestId("palette")).toBeVisible();
  });

  it("says that nothing has such a name", async () => {
    const { user, field } = await openPalette();
    await user.type(field, "zzz");
    expect(await screen.findByText("No results.")).toBeVisible();
    expect(field).toHaveAttribute("aria-expanded", "false");
    expect(field).not.toHaveAttribute("aria-activedescendant");
  });

  it("says what could not be searched, and finds the rest", async () => {
    server.on("GET /clusters", new Refusal(403, "Not yours."));
    const { user, field } = await openPalette();
    await user.type(field, "local");
    expect(await screen.findByText("Not everything could be searched. Not yours.")).toBeVisible();
    expect(await option(/^Local SGD/)).toBeVisible();
  });

  it("closes alone where a dialog lies below it", async () => {
    server.on("GET /experiments/*", experiment());
    const { user } = openApp(server, "/");
    await user.click((await screen.findAllByTestId("item-menu"))[0] as HTMLElement);
    await user.click(await screen.findByRole("menuitem", { name: "Tags and note" }));
    const note = await screen.findByLabelText("Note");
    await user.type(note, "Half done");
    await user.keyboard("{Control>}k{/Control}");
    await waitFor(() => expect(screen.getByRole("combobox", { name: "Search" })).toHaveFocus());
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByTestId("palette")).toBeNull());
    expect(note).toHaveFocus();
    expect(note).toHaveValue("Half done");
  });

  it("changes the colours, and gives the focus back", async () => {
    const { user, field } = await openPalette();
    await user.type(field, "dark");
    await option(/^Switch to dark colors/);
    await user.keyboard("{Enter}");
    await waitFor(() =>
      expect(document.documentElement).toHaveAttribute("data-mantine-color-scheme", "dark"),
    );
    expect(screen.getByTestId("open-palette")).toHaveFocus();
    expect(await screen.findByRole("button", { name: "Switch to light colors" })).toBeVisible();
  });
});

it("on the page of an experiment the palette knows what can be done with it", async () => {
  server
    .on("GET /experiments/*", experiment())
    .on("GET /experiments/*/comparison", comparison())
    .on("GET /experiments/*/bands", new Refusal(503, "Later."))
    .on("GET /runs", { items: [], next_cursor: null });
  const opened = vi.spyOn(window, "open").mockReturnValue(null);
  const { user } = openApp(server, "/experiments/exp_7");
  await screen.findByTestId("experiment-name");
  await user.click(screen.getByTestId("open-palette"));
  expect(await option(/^Compare this experiment/)).toBeVisible();
  await user.click(await option(/^Report of this experiment/));
  expect(opened).toHaveBeenCalledWith("/api/v1/experiments/exp_7/report.html", "_blank", "noopener");
});

it("the palette offers a viewer no new experiment, and a stranger is offered no palette", async () => {
  server.on("GET /me", me("viewer"));
  const first = openApp(server, "/");
  await screen.findAllByTestId("experiment-item");
  await first.user.click(screen.getByTestId("open-palette"));
  await option(/^Leaderboard/);
  expect(screen.queryByRole("option", { name: /^New experiment/ })).toBeNull();
  await first.user.keyboard("{Escape}");
  act(() => first.router.history.push("/sign-in"));
  await screen.findByTestId("sign-in");
  expect(screen.queryByTestId("open-palette")).toBeNull();
});
