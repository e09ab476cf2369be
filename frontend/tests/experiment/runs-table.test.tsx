import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { RunSummary } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { copied } from "../support/clipboard";
import { comparison, experiment } from "../support/fixtures/experiment";
import { runSummary } from "../support/fixtures/run";
import { tuned, tuning } from "../support/fixtures/tuning";
import { rowsAre } from "../support/layout";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();

beforeEach(() => {
  server
    .on("GET /experiments/*", experiment())
    .on("GET /experiments/*/comparison", comparison())
    .on("GET /experiments/*/bands", {
      axis: "clock",
      unit: "s",
      position: 0,
      version: "",
      since: null,
      bands: [],
    });
});

async function rows(items: RunSummary[], next: string | null = null): Promise<HTMLElement[]> {
  server.on("GET /runs", { items, next_cursor: next });
  openApp(server, "/experiments/exp_7");
  await screen.findAllByTestId("comparison-row");
  return screen.findAllByTestId("run-row");
}

const texts = (line: HTMLElement | undefined) =>
  within(line as HTMLElement)
    .getAllByRole("cell")
    .map((cell) => cell.textContent?.trim());

it("asks for the runs of this experiment alone, and keeps their order", async () => {
  const found = await rows([runSummary(23), runSummary(21), runSummary(22)]);
  expect(found.map((line) => texts(line)[0])).toEqual(["#23", "#21", "#22"]);
  expect(server.askedFor("GET /runs")[0]?.query.get("experiment")).toBe("exp_7");
});

it.each<[string, Partial<RunSummary>, string[]]>([
  ["runs", {}, ["#21", "Sync EASGD", "local × 2", "0", "running", "", "95.12%", "–", "–", "25.0%"]],
  [
    "has reached its target",
    { state: "succeeded", seed: 4, time_to_target: 2.34, test_accuracy: 0.9612 },
    [
      "#21",
      "Sync EASGD",
      "local × 2",
      "4",
      "finishedtarget reached",
      "",
      "95.12%",
      "96.12%",
      "2.34 s",
      "25.0%",
    ],
  ],
  [
    "is simulated",
    { simulated: true, cluster: "10gbe", workers: 8, time_to_target: 0.5, attempt: 2 },
    [
      "#21 attempt 2",
      "Sync EASGD",
      "10gbe × 8 simulated",
      "0",
      "running",
      "",
      "95.12%",
      "–",
      "500 ms virtual",
      "25.0%",
    ],
  ],
  [
    "has not begun, on too few cores",
    { state: "queued", accuracy: null, communication_fraction: null, oversubscribed: true, overlap: "lab" },
    ["#21", "Sync EASGD", "local × 2 oversubscribedoverlapped", "0", "waiting", "", "–", "–", "–", "–"],
  ],
])("tells of a run that %s", async (_, changes, expected) => {
  const [line] = await rows([runSummary(21, changes)]);
  expect(texts(line)).toEqual(expected);
  expect(within(line as HTMLElement).getByRole("link")).toHaveAttribute("href", "/runs/run_21");
});

it.each([
  [30_000, 120_000, "25%", "25.0% of the budget"],
  [130_000, 120_000, "100%", "100.0% of the budget"],
  [0, 0, "0%", "0.0% of the budget"],
])("shows %i of %i samples as %s of the budget", async (samples, budget, width, title) => {
  const [line] = await rows([runSummary(21, { samples, budget })]);
  const meter = within(line as HTMLElement).getByTitle(title);
  expect((meter.firstElementChild as HTMLElement).style.width).toBe(width);
});

describe("more runs than an answer holds", () => {
  /** Three pages of two runs, of which the last one fails where it is told to. */
  async function pages(fails = false) {
    let refuses = fails;
    server.on("GET /runs", ({ query }) => {
      const at = Number(query.get("cursor") ?? 0);
      if (at === 4 && refuses) {
        refuses = false;
        return new Refusal(404, "Gone.");
      }
      return { items: [runSummary(at + 1), runSummary(at + 2)], next_cursor: at < 4 ? String(at + 2) : null };
    });
    const app = openApp(server, "/experiments/exp_7");
    expect(await screen.findByText("The first 2 runs are shown.")).toBeVisible();
    await app.user.click(screen.getByRole("button", { name: "Show all" }));
    return app;
  }
  const numbers = () => screen.getAllByTestId("run-row").map((line) => texts(line)[0]);

  it("are read page after page on request", async () => {
    await pages();
    await waitFor(() => expect(numbers()).toEqual(["#1", "#2", "#3", "#4", "#5", "#6"]));
    await waitFor(() => expect(screen.queryByText(/^The first/)).toBeNull());
    expect(screen.queryByRole("button", { name: "Show all" })).toBeNull();
  });

  it("of which some cannot be read stay as far as they were, and are read when told", async () => {
    const { user } = await pages(true);
    expect(await screen.findByRole("alert")).toHaveTextContent("Not all runs could be read. Gone.");
    expect(screen.getByText("The first 4 runs are shown.")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Try again" }));
    await waitFor(() => expect(numbers()).toHaveLength(6));
  });
});

it("of many runs draws those in view, which know their number among all, and leaves whole", async () => {
  rowsAre(39);
  server.on("GET /runs", {
    items: Array.from({ length: 450 }, (_, i) => runSummary(i + 1)),
    next_cursor: null,
  });
  const { user } = openApp(server, "/experiments/exp_7");
  const found = await screen.findAllByTestId("run-row");
  expect(found.length).toBeLessThan(100);
  expect(screen.getByTestId("runs-table")).toHaveAttribute("aria-rowcount", "451");
  expect(found[0]).toHaveAttribute("aria-rowindex", "2");
  await user.click(screen.getByRole("button", { name: "Export: Runs of this experiment" }));
  await user.click(await screen.findByRole("menuitem", { name: "Copy as Markdown" }));
  await screen.findByText("Copied");
  const lines = (await copied()).split("\n");
  expect(lines).toHaveLength(452);
  expect(lines.at(-1)).toContain("#450");
  expect(screen.getAllByTestId("run-row").length).toBeLessThan(100);
});

it("says why it is missing", async () => {
  server.on("GET /runs", new Refusal(500, "No table."));
  openApp(server, "/experiments/exp_7");
  await screen.findAllByTestId("comparison-row");
  expect(await screen.findByRole("alert")).toHaveTextContent("The runs could not be loaded. No table.");
});

describe("of a tuned experiment", () => {
  const trials = [
    runSummary(1, { trial: 1, rung: 0 }),
    runSummary(2, { trial: 2, rung: 0 }),
    runSummary(3, { trial: 2, rung: 1 }),
  ];
  const reported = [runSummary(4, { trial: 2 }), runSummary(5, { trial: 2, seed: 1 })];

  async function table(address = "/experiments/exp_7") {
    server
      .on("GET /experiments/*", tuned())
      .on("GET /experiments/*/tuning", tuning())
      .on("GET /runs", ({ query }) => ({
        items: query.get("reported") === "true" ? reported : trials,
        next_cursor: null,
      }));
    const app = openApp(server, address);
    await screen.findAllByTestId("comparison-row");
    await screen.findAllByTestId("search");
    await waitFor(() => expect(screen.getByText("Trials (3)")).toBeVisible());
    return app;
  }
  const shown = () => screen.getAllByTestId("run-row").map((line) => [texts(line)[0], texts(line)[2]]);
  const REPORTED = [
    ["#4", "setting of trial 2"],
    ["#5", "setting of trial 2"],
  ];
  const TRIALS = [
    ["#1", "1, rung 1"],
    ["#2", "2, rung 1"],
    ["#3", "2, rung 2"],
  ];

  it("the reported ones stand first, and each says its trial", async () => {
    await table();
    expect(shown()).toEqual([...REPORTED, ...TRIALS]);
    expect(server.askedFor("GET /runs").map(({ query }) => query.get("reported"))).toEqual(["true", "false"]);
  });

  it("either kind can be shown alone, in the address too", async () => {
    const { user, address } = await table();
    await user.click(screen.getByText("Reported (2)"));
    await waitFor(() => expect(shown()).toEqual(REPORTED));
    expect(address()).toBe("/experiments/exp_7?runs=reported");
    await user.click(screen.getByText("Trials (3)"));
    await waitFor(() => expect(shown()).toEqual(TRIALS));
    await user.click(screen.getByText("All"));
    await waitFor(() => expect(address()).toBe("/experiments/exp_7"));
    expect(shown()).toHaveLength(5);
  });

  it("begin as the address says", async () => {
    await table("/experiments/exp_7?runs=trials");
    expect(shown()).toEqual(TRIALS);
  });
});

it("all runs and all points leave as files that the server makes", async () => {
  await rows([runSummary(21)]);
  expect(screen.getByRole("link", { name: "All runs, CSV" })).toHaveAttribute(
    "href",
    "/api/v1/runs.csv?experiment=exp_7",
  );
  expect(screen.getByRole("link", { name: "All points, CSV" })).toHaveAttribute(
    "href",
    "/api/v1/experiments/exp_7/points.csv",
  );
});

it("selects runs, which are then rows of a comparison", async () => {
  const [first, second] = await rows([runSummary(23), runSummary(21)]);
  const box = (line: HTMLElement | undefined) => within(line as HTMLElement).getByRole("checkbox");
  fireEvent.click(box(second));
  fireEvent.click(box(first));
  const compare = screen.getByRole("link", { name: "Compare 2 runs" }).getAttribute("href");
  expect(decodeURIComponent(compare ?? "")).toBe('/compare?rows=["run_21","run_23"]');
  fireEvent.click(box(first));
  expect(screen.getByRole("link", { name: "Compare 1 run" })).toBeVisible();
});
