import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { RunSummary } from "@/lib/client/types.gen";
import { CompareSelected } from "@/lib/ui/compare-selected";
import { openApp, show } from "../support/app";
import { savedView } from "../support/fixtures/people";
import { runSummary } from "../support/fixtures/run";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const NAMED = { experiment_id: "exp_7", experiment_number: 7, experiment_name: "Digits, three ways" };
const OTHER = { experiment_id: "exp_9", experiment_number: 9, experiment_name: "Slow and fast" };
const FOUND: RunSummary[] = [
  { ...runSummary(21), ...NAMED, variant: "Sync EASGD", workers: 8, test_accuracy: 0.9812 },
  { ...runSummary(3), ...OTHER, variant: "SlowMo", workers: 8, test_accuracy: null },
];

const rows = async () =>
  (await screen.findAllByTestId("found-run")).map((row) => row.textContent?.replaceAll(/\s+/g, " "));

describe("runs of all experiments", () => {
  it("are those that fit the filter of the address, with their columns, and lead on", async () => {
    server.on("GET /runs", { items: FOUND, next_cursor: null });
    openApp(server, "/runs?filter=workers%20%3D%208&columns=variant.test_accuracy");
    await screen.findAllByText(/^of #/);
    expect(await rows()).toEqual([
      "#21of #7 Digits, three waysSync EASGD98.12%",
      "#3of #9 Slow and fastSlowMo–",
    ]);
    const [asked] = server.asked.filter(({ operation }) => operation === "GET /runs");
    expect(Object.fromEntries(asked?.query ?? [])).toEqual({
      ...{ filter: "workers = 8", sort: "-created", limit: "100" },
    });
    expect(screen.getByRole("link", { name: "Run 21, Sync EASGD, #7 Digits, three ways" })).toHaveAttribute(
      "href",
      "/runs/run_21",
    );
    expect(screen.getByRole("link", { name: "All as CSV" })).toHaveAttribute(
      "href",
      "/api/v1/runs.csv?filter=workers+%3D+8&sort=-created",
    );
    const compare = screen.getByRole("link", { name: "Compare their variants" }).getAttribute("href");
    expect(decodeURIComponent(compare ?? "")).toContain(`exp_9/${FOUND[1]?.cluster}/8/SlowMo`);
  });

  it("have the experiments of their own column named, without a further request", async () => {
    server.on("GET /runs", { items: FOUND, next_cursor: null });
    openApp(server, "/runs?columns=variant.experiment");
    await screen.findByRole("link", { name: "#9 Slow and fast" });
    expect(await rows()).toEqual(["#21Sync EASGD#7 Digits, three ways", "#3SlowMo#9 Slow and fast"]);
    expect(server.asked.filter(({ operation }) => operation.startsWith("GET /experiments"))).toEqual([]);
  });

  it("of one experiment need no name beside their numbers", async () => {
    const items = [21, 22].map((number) => ({ ...runSummary(number), ...NAMED }));
    server.on("GET /runs", { items, next_cursor: null });
    openApp(server, "/runs?columns=variant");
    expect(await rows()).toEqual(["#21Sync EASGD", "#22Sync EASGD"]);
  });

  it("are selected, and compared as rows of their own", async () => {
    server.on("GET /runs", { items: FOUND, next_cursor: null });
    const { user } = openApp(server, "/runs");
    await user.click(await screen.findByRole("checkbox", { name: "Select run 3, SlowMo" }));
    await user.click(screen.getByRole("checkbox", { name: "Select run 21, Sync EASGD" }));
    const compare = screen.getByRole("link", { name: "Compare 2 runs" }).getAttribute("href");
    expect(decodeURIComponent(compare ?? "")).toBe('/compare?rows=["run_3","run_21"]');
    await user.click(screen.getByRole("checkbox", { name: "Select run 3, SlowMo" }));
    expect(screen.getByRole("link", { name: "Compare 1 run" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Clear selection" }));
    expect(screen.queryByTestId("compare-runs")).toBeNull();
  });

  it("stay selected where they are too many to compare, which is said", async () => {
    const selected = Array.from({ length: 101 }, (_, at) => `run_${at}`);
    show(<CompareSelected selected={selected} clear={() => undefined} />);
    const refused = within(
      screen.getByRole("group", { name: "A comparison takes at most 100 runs; 101 are selected." }),
    );
    expect(refused.getByRole("button", { name: "Compare 101 runs" })).toBeDisabled();
    expect(screen.getByRole("button", { name: "Clear selection" })).toBeEnabled();
  });

  it("of more experiments than a comparison takes are compared as far as it goes, which is said", async () => {
    const items = Array.from({ length: 23 }, (_, at) => ({ ...runSummary(at), experiment_id: `exp_${at}` }));
    server.on("GET /runs", { items, next_cursor: null });
    const { user } = openApp(server, "/runs");
    const compare = await screen.findByRole("link", { name: "Compare the first 20 variants" });
    const rows = JSON.parse(
      new URL(compare.getAttribute("href") ?? "", server.url).searchParams.get("rows") ?? "",
    );
    expect(rows.map((row: string) => row.split("/")[0])).toEqual(
      items.slice(0, 20).map(({ experiment_id }) => experiment_id),
    );
    expect(screen.getByTestId("not-compared")).toHaveTextContent(
      "of 20 of 23 experiments: a comparison takes at most 100 variants of 20 experiments",
    );
    for (const box of screen.getAllByRole("checkbox", { name: /^Select run/ })) await user.click(box);
    const why = "A comparison takes runs of at most 20 experiments; those of 23 are selected.";
    expect(
      within(screen.getByRole("group", { name: why })).getByRole("button", { name: "Compare 23 runs" }),
    ).toBeDisabled();
  });

  it("are sorted by a click, and the next page follows", async () => {
    server.on("GET /runs", ({ query }) =>
      query.get("cursor")
        ? { items: FOUND.slice(1), next_cursor: null }
        : { items: FOUND.slice(0, 1), next_cursor: "further" },
    );
    const { user } = openApp(server, "/runs");
    await user.click(await screen.findByRole("button", { name: "Load more" }));
    await waitFor(async () => expect(await rows()).toHaveLength(2));
    await user.click(screen.getByRole("button", { name: "Test accuracy" }));
    await waitFor(() =>
      expect(screen.getByRole("columnheader", { name: /Test accuracy/ })).toHaveAttribute(
        "aria-sort",
        "descending",
      ),
    );
    await waitFor(() => expect(server.asked.at(-1)?.query.get("sort")).toBe("-test_accuracy"));
    expect(screen.getByRole("link", { name: "All as CSV" })).toHaveAttribute(
      "href",
      "/api/v1/runs.csv?sort=-test_accuracy",
    );
  });

  it("are as they are now: what goes on and ends is told without a click", async () => {
    server.on("GET /runs", { items: [{ ...runSummary(21), state: "running" }], next_cursor: null });
    const { live } = openApp(server, "/runs?columns=state");
    expect(await screen.findByText("running")).toBeVisible();
    await live();
    server.on("GET /runs", { items: [{ ...runSummary(21), state: "succeeded" }], next_cursor: null });
    server.send("run", { id: "run_21", experiment_id: "exp_7", state: "succeeded", attempt: 1 }, 5);
    expect(await screen.findByText("finished")).toBeVisible();
  });

  it("are kept as a view under a name", async () => {
    server.on("GET /runs", { items: FOUND, next_cursor: null });
    const view = savedView("viw_1", "Failed", "/runs?filter=state+%3D+failed");
    server.on("GET /views", { items: [view] });
    const { user, address } = openApp(server, "/runs");
    await user.click(await screen.findByTestId("views"));
    await user.click(await screen.findByRole("menuitem", { name: /^Failed/ }));
    await waitFor(() => expect(address()).toBe("/runs?filter=state+%3D+failed"));
  });

  it("whose filter cannot be read say so at the field, and an empty list says that too", async () => {
    server.on(
      "GET /runs",
      new Refusal(422, "the filter cannot be read: column 1: no field is called 'worker'"),
    );
    const { user } = openApp(server, "/runs?filter=worker%20%3D%208");
    expect(await screen.findByText(/no field is called 'worker'/)).toBeVisible();
    server.on("GET /runs", { items: [], next_cursor: null });
    const field = within(screen.getByRole("main")).getByRole("combobox", { name: "Find runs" });
    await user.clear(field);
    await user.type(field, "workers = 9{Enter}");
    expect(await screen.findByText("No run fits this filter.")).toBeVisible();
    await user.clear(field);
    expect(await screen.findByText("There are no runs yet.")).toBeVisible();
  });
});
