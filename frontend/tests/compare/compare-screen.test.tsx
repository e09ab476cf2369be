import { act, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { sheetOf } from "@/lib/export/sheet";
import { openApp } from "../support/app";
import { comparedExperiment, comparedRow, comparedRows } from "../support/fixtures/compare";
import { summary } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
beforeEach(() => {
  server
    .on("GET /experiments", { items: [7, 8, 12].map((number) => summary(number)), next_cursor: null })
    .on("GET /compare", comparedRows());
});

const link = (rows: string[], more = "") =>
  `/compare?rows=${encodeURIComponent(JSON.stringify(rows))}${more}`;
const cells = (row: HTMLElement) =>
  [...row.querySelectorAll("th, td")].map((cell) => cell.textContent?.replace(/\s+/g, " ").trim());
const asked = () => server.askedFor("GET /compare").at(-1)?.query;

async function open(more = "") {
  const app = openApp(server, link(["7", "8"], more));
  await screen.findAllByTestId("compared-row");
  return app;
}

describe("the figures", () => {
  it("have a row for each variant, measured and simulated ones apart", async () => {
    await open();
    const [measured, simulated] = screen.getAllByTestId("rows-table");
    const rows = within(measured as HTMLElement).getAllByTestId("compared-row");
    expect(cells(rows[0] as HTMLElement)).toEqual([
      "Original EASGD#7 local, 2 workers",
      "3 / 3",
      "4 s3.5 s to 4.5 s",
      "90,00086,000 to 94,000",
      "25.0%20.0% to 30.0%",
      "281 MB280 MB to 282 MB",
      "97.2%97.1% to 97.3%",
      "97.0%97.0% to 97.2%",
      "96.8%96.2% to 97.4%",
    ]);
    const virtual = within(simulated as HTMLElement);
    expect(virtual.getAllByTestId("compared-row")).toHaveLength(1);
    expect(virtual.getByText("simulated")).toBeVisible();
    expect(virtual.getByRole("columnheader", { name: /Time to target/ })).toHaveTextContent("virtual s");
  });

  it("are sorted by a click, and by the address", async () => {
    const { user, router } = await open("&sort=time");
    const [table] = screen.getAllByTestId("rows-table");
    const times = () =>
      within(table as HTMLElement)
        .getAllByTestId("compared-row")
        .map((row) => cells(row)[2]?.slice(0, 5));
    expect(times()).toEqual(["1.5 s", "2.5 s", "4 s3."]);
    const head = within(table as HTMLElement).getByRole("columnheader", { name: /Time to target/ });
    expect(head).toHaveAttribute("aria-sort", "ascending");
    await user.click(within(head).getByRole("button"));
    await waitFor(() => expect(head).toHaveAttribute("aria-sort", "descending"));
    expect(times()).toEqual(["4 s3.", "2.5 s", "1.5 s"]);
    expect(router.state.location.search).toMatchObject({ sort: "-time" });
  });

  it("leave with the titles of their columns, although a click on these sorts", async () => {
    await open();
    const [, simulated] = screen.getAllByTestId<HTMLTableElement>("rows-table");
    const { head, numeric } = sheetOf(simulated as HTMLTableElement);
    expect(head.slice(0, 3)).toEqual(["Row", "Seeds finished", "Time to target, median, virtual s"]);
    expect(numeric.slice(0, 3)).toEqual([false, true, true]);
    expect(head).not.toContain("");
  });

  it("say how many seeds reached the target, and leave out what no row has", async () => {
    const missed = { mean: null, median: null, low: 3, high: 3, n: 3, reached: 1, unit: "s" as const };
    const none = { mean: null, low: null, high: null, n: 0, unit: "" };
    const rows = ["a", "b"].map((name) => comparedRow(7, name, { test_accuracy: none }));
    const all = [comparedRow(7, "c", { test_accuracy: none, time_to_target: missed }), ...rows];
    server.on("GET /compare", comparedRows({ rows: all, settings: [], contrasts: [] }));
    await open();
    expect(screen.getAllByTestId("compared-row")[0]).toHaveTextContent("–1 of 3 reached");
    expect(screen.queryByRole("columnheader", { name: /Test accuracy/ })).toBeNull();
    expect(screen.getByTestId("lacking")).toHaveTextContent("Not drawn: c, without time to target.");
  });
});

describe("the page", () => {
  it("follows the runs of what is compared", async () => {
    const { live } = await open();
    await live();
    const faster = comparedRow(7, "Sync EASGD", { finished: 2 });
    server.on("GET /compare", comparedRows({ rows: [faster], settings: [], contrasts: [] }));
    server.send("run", { id: "run_1", experiment_id: "exp_8", state: "succeeded", attempt: 1 }, 1);
    await waitFor(() => expect(screen.getAllByTestId("compared-row")).toHaveLength(1));
    expect(screen.getByTestId("compared-row")).toHaveTextContent("2 / 3");
  });

  it("says how settings were chosen where experiments differ in it, and marks what is crowded", async () => {
    const experiments = [
      comparedExperiment(7, { note: "made without a validation part" }),
      comparedExperiment(8, { tuning: "Each setting is the best of 16 trials.", target: null }),
    ];
    const rows = [comparedRow(7, "a", { oversubscribed: true, failed: 1 }), comparedRow(8, "b")];
    server.on("GET /compare", comparedRows({ experiments, rows, settings: [], contrasts: [] }));
    await open();
    const efforts = within(screen.getByTestId("efforts")).getAllByRole("listitem");
    expect(efforts.map((one) => one.textContent)).toEqual([
      "#7: Settings are as given.",
      "#8: Each setting is the best of 16 trials.",
    ]);
    const [seven, eight] = screen.getAllByTestId("chosen-experiment");
    expect(seven).toHaveTextContent("made without a validation part");
    expect(eight).toHaveTextContent("digits-mlp, without a target");
    const [crowded, other] = screen.getAllByTestId("compared-row");
    expect(crowded).toHaveTextContent("oversubscribed");
    expect(crowded).toHaveTextContent("1 failed");
    expect(other).not.toHaveTextContent("oversubscribed");
    expect(within(crowded as HTMLElement).getByRole("link")).toHaveAttribute("href", "/experiments/exp_7");
  });

  it("tries again when asked to", async () => {
    server.on("GET /compare", new Refusal(503, "The database is locked."));
    const { user } = openApp(server, link(["7", "8"]));
    const alert = await screen.findByRole("alert");
    server.on("GET /compare", comparedRows());
    await user.click(within(alert).getByRole("button", { name: "Try again" }));
    expect(await screen.findAllByTestId("compared-row")).toHaveLength(4);
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("stand while the server is away, and not where it refuses them", async () => {
    const { queries } = await open();
    const again = () => act(() => queries.refetchQueries({ type: "active" }));
    server.on("GET /compare", new Refusal(503, "Restarting."));
    await again();
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("These rows could not be compared. Restarting.");
    expect(screen.getAllByTestId("compared-row")).toHaveLength(4);
    server.on("GET /compare", new Refusal(422, "No experiment has the number 8."));
    await again();
    await waitFor(() => expect(screen.queryAllByTestId("compared-row")).toEqual([]));
  });
});

describe("the trade-offs", () => {
  it("show which rows no other one beats, in a chart and in a table, simulated ones apart", async () => {
    const { user, router } = await open();
    const [measured] = screen.getAllByTestId("front");
    const points = [...(measured as HTMLElement).querySelectorAll("[data-point]")];
    const best = points.filter((point) => point.hasAttribute("data-on-front"));
    expect(best.map((point) => point.getAttribute("data-point"))).toEqual([
      "8/hpc/2/Sync EASGD",
      "7/local/2/Sync EASGD",
    ]);
    expect(points).toHaveLength(3);
    expect(screen.getAllByTestId("front")).toHaveLength(2);
    const [table] = screen.getAllByTestId("front-table");
    const rows = within(table as HTMLElement).getAllByRole("row");
    expect(rows.map((row) => cells(row).at(-1))).toEqual(["On the front", "yes", "yes", "no"]);
    expect(cells(rows[1] as HTMLElement)[1]).toBe("1.5 s (1 s to 2 s)");
    await user.selectOptions(screen.getByRole("combobox", { name: "Horizontal axis" }), "Bytes sent");
    await waitFor(() => expect(router.state.location.search).toMatchObject({ over: "bytes" }));
    expect(screen.getAllByRole("img", { name: /Best accuracy against Bytes sent/ })).toHaveLength(2);
  });
});

describe("the settings", () => {
  it("are those that differ, for every row; the others are folded", async () => {
    await open();
    const part = screen.getByTestId("settings");
    const rows = within(part).getAllByTestId("setting");
    expect(rows.map(cells)).toEqual([
      ["algorithm", "original-easgd", "sync-easgd", "sync-easgd", "sync-easgd"],
      ["algorithm moving rate", "–", "0.1", "0.1", "0.2"],
    ]);
    expect(within(part).getByText("2 settings are the same").closest("details")).not.toHaveAttribute("open");
    expect(part.querySelector("dl")).toHaveTextContent("batch32communication error feedbackyes");
  });
});

describe("the ratios", () => {
  it("compare clusters with interval and seeds, and say in a sentence what is not comparable", async () => {
    const { user, router } = await open();
    const part = screen.getByTestId("contrasts");
    expect(part).toHaveTextContent("claims hold after correction for 2 ratios");
    const [found, refused] = within(part).getAllByTestId("contrast");
    expect(cells(found as HTMLElement).slice(0, 4)).toEqual([
      "Sync EASGD#7 local, 2 workers",
      "Sync EASGD#8 hpc, 2 workers",
      "1.67×1.50× to 1.85×",
      "3",
    ]);
    expect(cells(refused as HTMLElement).slice(2)).toEqual([
      "–",
      "–",
      "Sync EASGD on local and Sync EASGD on 10gbe are not compared: local is measured.",
    ]);
    expect(refused).toHaveTextContent("simulated");
    const choice = screen.getByRole("combobox", { name: "Comparison" });
    await user.selectOptions(choice, "all rows against Original EASGD on local (#7)");
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({ against: "7/local/2/Original EASGD" }),
    );
    await waitFor(() => expect(asked()?.get("against")).toBe("7/local/2/Original EASGD"));
    expect(await screen.findByRole("heading", { name: "Against one row" })).toBeVisible();
  });

  it("say why there are none", async () => {
    server.on("GET /compare", comparedRows({ contrasts: [] }));
    const { user } = await open();
    expect(screen.getByTestId("contrasts")).toHaveTextContent("No variant was selected on two clusters");
    server.on("GET /compare", comparedRows({ contrasts: [], note: "These rows make 300 pairs." }));
    await user.selectOptions(
      screen.getByRole("combobox", { name: "Comparison" }),
      "7/local/2/Original EASGD",
    );
    await waitFor(() =>
      expect(screen.getByTestId("contrasts")).toHaveTextContent("These rows make 300 pairs."),
    );
  });
});
