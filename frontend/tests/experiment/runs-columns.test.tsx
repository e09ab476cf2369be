import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { COLUMNS, columnsFor, inOrder, runsOrderIn, secondsOf } from "@/features/experiment/runs-order";
import { type Column, columnsIn, columnsText } from "@/lib/ui/columns";
import { openApp } from "../support/app";
import { runSummary } from "../support/fixtures/run";
import { apiServer } from "../support/server";
import { answerExperiment } from "./page";

const server = apiServer();
const ENDED = runSummary(21, {
  ...{ state: "succeeded", loss: 0.21234, test_loss: 0.3, staleness: 1.5, samples: 120_000 },
  finished_at: "2026-03-01T10:01:35Z",
});
const GOING = runSummary(22, { loss: null });

beforeEach(() => {
  answerExperiment(server);
  server.on("GET /runs", { items: [GOING, ENDED], next_cursor: null });
});

const heads = () =>
  within(screen.getByTestId("runs-table"))
    .getAllByRole("columnheader")
    .map((cell) => cell.textContent);
const texts = (line: HTMLElement | undefined) =>
  within(line as HTMLElement)
    .getAllByRole("cell")
    .map((cell) => cell.textContent?.trim());

describe("columns in an address", () => {
  const few: readonly Column[] = ["a", "b", "c"].map((key) => ({ key, title: key, usual: key !== "c" }));

  it("are those that it names, in their own order; the usual ones need no name", () => {
    expect([...columnsIn(few, undefined)]).toEqual(["a", "b"]);
    expect([...columnsIn(few, "c.a.moon")]).toEqual(["a", "c"]);
    expect([...columnsIn(few, "moon")]).toEqual(["a", "b"]);
    expect([...columnsIn(few, "none")]).toEqual([]);
    expect(columnsText(few, new Set(["b", "a"]))).toBeUndefined();
    expect(columnsText(few, new Set(["c", "a"]))).toBe("a.c");
    expect(columnsText(few, new Set())).toBe("none");
  });

  it("of trials are there where there are trials", () => {
    expect(columnsFor(COLUMNS, true)).toHaveLength(COLUMNS.length);
    expect(columnsFor(COLUMNS, false).map(({ key }) => key)).not.toContain("trial");
  });
});

it.each([
  ["duration", [21, 22]], // what has none comes last
  ["-started", [22, 21]],
  ["loss", [21, 22]],
  ["-samples", [21, 22]],
  ["method", [22, 21]],
])("runs are sorted by %s", (sort, expected) => {
  const early = { ...ENDED, started_at: "2026-03-01T10:00:00Z", algorithm: "z" };
  const found = inOrder([GOING, early], runsOrderIn(sort), []);
  expect(found.map(({ number }) => number)).toEqual(expected);
  expect(secondsOf(early)).toBe(95);
});

it("a column is added by its menu, and the address keeps it", async () => {
  const { user, address } = openApp(server, "/experiments/exp_7");
  await screen.findAllByTestId("run-row");
  expect(heads()).not.toContain("Last loss");
  await user.click(within(screen.getByTestId("runs")).getByRole("button", { name: "Columns" }));
  expect(screen.queryByRole("menuitemcheckbox", { name: "Run" })).toBeNull();
  expect(screen.queryByRole("menuitemcheckbox", { name: "Trial" })).toBeNull();
  await user.click(await screen.findByRole("menuitemcheckbox", { name: "Last loss" }));
  await waitFor(() => expect(heads()).toContain("Last loss"));
  expect(address()).toMatch(/columns=variant\.trial\.cluster\.seed\.state\.budget\.accuracy\.loss\.test/);
  await user.click(screen.getByRole("menuitemcheckbox", { name: "Last loss" }));
  await waitFor(() => expect(address()).toBe("/experiments/exp_7"));
});

it("the columns of the address are those of rows and of groups", async () => {
  openApp(server, "/experiments/exp_7?columns=method.duration.samples.loss.test_loss.staleness");
  const [going, ended] = await screen.findAllByTestId("run-row");
  const titles = ["Run", "Algorithm", "Duration", "Samples", "Last loss", "Test loss, once", "Staleness"];
  expect(heads()).toEqual(titles);
  expect(texts(ended)).toEqual(["#21", "sync-easgd", "90 s", "120,000", "0.2123", "0.3", "1.5"]);
  expect(texts(going)).toEqual(["#22", "sync-easgd", "–", "30,000", "–", "–", "–"]);
});

it("the energy is read where it has a column, and says what has to be known of it", async () => {
  const denied = "not readable here: permission denied on /sys/class/powercap/intel-rapl:0/energy_uj";
  const used: [number | null, string, boolean][] = [
    [12_345, "", false],
    [900, "shared: of the processor time used meanwhile, its ranks used 25%; so far", false],
    [null, denied, false],
    [null, "", false],
    [null, "", true],
  ];
  server.on("GET /runs", ({ query }) => ({
    items: used.map(([energy_j, energy_note, simulated], i) =>
      runSummary(21 + i, {
        ...{ simulated, state: i === 1 ? "running" : "succeeded" },
        ...(query.get("energy") === "true" ? { energy_j, energy_note } : {}),
      }),
    ),
    next_cursor: null,
  }));
  const { user } = openApp(server, "/experiments/exp_7?columns=seed.energy&sort=-energy");
  await screen.findByText("12.3 kJ");
  const rows = screen.getAllByTestId("run-row");
  expect(heads()).toEqual(["Run", "Seed", "Machine energy ▼"]);
  expect(rows.map((row) => texts(row)[2])).toEqual([
    "12.3 kJ",
    "900 J shared",
    "not readable here",
    "–",
    "–",
  ]);
  expect(screen.getByText("not readable here").parentElement).toHaveAttribute("title", denied);
  await user.click(screen.getByTestId("group-runs"));
  const groups = await screen.findAllByTestId("run-group");
  expect(texts(groups[0])[2], "of those that have ended").toBe("12.3 kJ");
});

it("groups have as many cells, empty where they say nothing together", async () => {
  openApp(server, "/experiments/exp_7?columns=variant.loss.accuracy&group=variant");
  const [group] = await screen.findAllByTestId("run-group");
  expect(heads()).toEqual(["Run", "Variant", "Last accuracy", "Last loss"]);
  expect(texts(group)).toEqual(["▸ 2 runs", "Sync EASGD", "95.12%", ""]);
});
