import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { answerExperiment } from "../experiment/page";
import { openApp } from "../support/app";
import { algorithm, CATALOGUE, cluster } from "../support/fixtures/catalogue";
import { comparison, experiment, summary } from "../support/fixtures/experiment";
import { me } from "../support/fixtures/people";
import { run, runSummary } from "../support/fixtures/run";
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

/** Keys one after another with no time between them: on a busy machine a pause of its own would be a search. */
function typeQuickly(field: HTMLElement, text: string) {
  for (let end = 1; end <= text.length; end += 1)
    fireEvent.change(field, { target: { value: text.slice(0, end) } });
}

const NAMED = { experiment_number: 7, experiment_name: "Digits, three ways" };
const option = (name: RegExp) => screen.findByRole("option", { name });
const current = (field: HTMLElement) =>
  document.getElementById(field.getAttribute("aria-activedescendant") ?? "")?.textContent;

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
    await user.keyboard("{ArrowDown}{ArrowDown}{ArrowDown}");
    expect(current(field)).toMatch(/^Experiments/);
    expect(screen.getAllByRole("option", { selected: true })).toHaveLength(1);
  });

  it("searches experiments on the server once nobody types, and algorithms by title", async () => {
    const { user, field, address } = await openPalette();
    typeQuickly(field, "local");
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

  it("finds runs by a filter, and leads to all of them", async () => {
    // the page of the run asks for its parts as soon as it is shown: at once where another test has loaded it
    answerExperiment(server);
    server
      .on("GET /runs", { items: [runSummary(21, NAMED)], next_cursor: null })
      .on("GET /runs/*", run())
      .on("GET /runs/*/logs", { lines: [], more: false, next_after: 0 });
    const { user, field, address, router } = await openPalette();
    typeQuickly(field, "state = failed");
    await user.click(await option(/^Run #21, Sync EASGD#7 Digits, three ways · local/));
    await waitFor(() => expect(address()).toBe("/runs/run_21"));
    expect(server.askedFor("GET /runs").map(({ query }) => query.get("filter"))).toEqual(["state = failed"]);
    await screen.findByRole("heading", { level: 1, name: /Run #21/ });

    await user.keyboard("{Control>}k{/Control}");
    typeQuickly(await screen.findByRole("combobox", { name: "Search" }), "state = failed");
    await user.click(await option(/^All such runs/));
    await waitFor(() => expect(router.state.location).toMatchObject({ pathname: "/runs" }));
    expect(router.state.location.search).toMatchObject({ filter: "state = failed" });
  });

  it("imports the file that is chosen, and shows what it has", async () => {
    answerExperiment(server);
    server.on("POST /experiments/import", experiment());
    vi.spyOn(HTMLInputElement.prototype, "click").mockImplementation(function (this: HTMLInputElement) {
      Object.defineProperty(this, "files", { value: [new File(["PK"], "digits.zip")] });
      this.dispatchEvent(new Event("change"));
    });
    const { user, address } = await openPalette();
    await user.click(await option(/^Import an experiment/));
    await waitFor(() => expect(address()).toBe("/experiments/exp_7"));
    expect(server.askedFor("POST /experiments/import")).toHaveLength(1);
    vi.restoreAllMocks();
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
