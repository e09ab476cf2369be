import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { answerExperiment, openExperiment } from "../experiment/page";
import { openApp } from "../support/app";
import { algorithm, CATALOGUE, cluster } from "../support/fixtures/catalogue";
import { me } from "../support/fixtures/people";
import { runSummary } from "../support/fixtures/run";
import { apiServer } from "../support/server";

const server = apiServer();

describe("the address has what was chosen", () => {
  it("of the algorithms", async () => {
    server.on("GET /algorithms", {
      ...CATALOGUE,
      items: [algorithm("sync-sgd", "Sync SGD"), algorithm("gosgd", "GoSGD")],
    });
    const { user, router } = openApp(server, "/algorithms?find=gos");
    expect(await screen.findByText("GoSGD")).toBeVisible();
    expect(screen.queryByText("Sync SGD")).toBeNull();
    await user.clear(screen.getByLabelText("Find"));
    await waitFor(() => expect(router.state.location.search).toEqual({}));
    await user.type(screen.getByLabelText("Find"), "sync");
    await waitFor(() => expect(router.state.location.search).toEqual({ find: "sync" }));
    expect(router.history.length).toBe(1); // typing leaves no entries
  });

  it("of an algorithm's cost and bounds", async () => {
    server
      .on("GET /algorithms", { ...CATALOGUE, items: [algorithm("sync-easgd", "Sync EASGD")] })
      .on("GET /experiments", { items: [], next_cursor: null });
    const { user, router } = openApp(server, "/algorithms/sync-easgd?network=qdr&workers=8");
    expect(await screen.findByLabelText("Network")).toHaveValue("qdr");
    expect(screen.getByLabelText("Stability bounds for workers")).toHaveValue("8");
    await user.selectOptions(screen.getByLabelText("Network"), "fdr");
    await user.selectOptions(screen.getByLabelText("Stability bounds for workers"), "2");
    await waitFor(() => expect(router.state.location.search).toEqual({ network: "fdr", workers: 2 }));
  });

  it("of the occupancy, of all clusters", async () => {
    server
      .on("GET /clusters", { items: [cluster("local"), cluster("other")] })
      .on("GET /clusters/*/tokens", { items: [] });
    const { user, router } = openApp(server, "/clusters?period=week");
    await waitFor(() =>
      expect(server.askedFor("GET /clusters/*/occupancy").map(({ query }) => query.get("period"))).toEqual([
        "week",
        "week",
      ]),
    );
    const [first] = screen.getAllByTestId("occupancy");
    await user.click(within(first as HTMLElement).getByLabelText("24 hours"));
    await waitFor(() => expect(router.state.location.search).toEqual({}));
  });

  it("of the audit trail", async () => {
    const none = { items: [], next_cursor: null };
    server.on("GET /me", me("admin")).on("GET /users", none).on("GET /tokens", none).on("GET /audit", none);
    const { user, router } = openApp(server, "/administration?actor=ana");
    expect(await screen.findByTestId("trail-actor")).toHaveValue("ana");
    await user.type(screen.getByTestId("trail-subject"), "exp_7");
    await waitFor(() => expect(router.state.location.search).toEqual({ actor: "ana", subject: "exp_7" }));
    await waitFor(() =>
      expect(server.askedFor("GET /audit").at(-1)?.query.toString()).toBe("actor=ana&subject=exp_7&limit=50"),
    );
  });
});

describe("the address of an experiment", () => {
  it("has that all runs are listed, and which groups are open", async () => {
    answerExperiment(server);
    server.on("GET /runs", ({ query }) =>
      query.get("cursor")
        ? { items: [runSummary(22, { cluster: "other" })], next_cursor: null }
        : { items: [runSummary(21)], next_cursor: "on" },
    );
    const { user, router } = await openExperiment(server, "/experiments/exp_7?group=variant&all=yes");
    await waitFor(() => expect(screen.getAllByRole("button", { name: /1 run of/ })).toHaveLength(2));
    await user.click(screen.getByRole("button", { name: /1 run of .* on other/ }));
    expect(await screen.findByRole("link", { name: "#22" })).toBeVisible();
    const open = [`other/${runSummary(22).workers}/${runSummary(22).variant}`];
    expect(router.state.location.search).toEqual({ group: "variant", all: "yes", open });
    await user.click(screen.getByRole("button", { name: /1 run of .* on other/ }));
    await waitFor(() => expect(router.state.location.search).toEqual({ group: "variant", all: "yes" }));
  });
});

describe("Back", () => {
  function opened() {
    answerExperiment(server);
    return openExperiment(server);
  }

  it("undoes what changed the charts, one by one, and not how the table is sorted", async () => {
    const { user, router } = await opened();
    const search = (expected: object) =>
      waitFor(() => expect(router.state.location.search).toEqual(expected));
    await user.click(screen.getByLabelText("Median"));
    await search({ seeds: "median" });
    await user.click(screen.getByLabelText("Log scale"));
    await search({ seeds: "median", scale: "log" });
    await user.click(within(screen.getByTestId("runs-table")).getByRole("button", { name: "Seed" }));
    await search({ seeds: "median", scale: "log", sort: "seed" });
    act(() => router.history.back());
    await search({ seeds: "median" });
    act(() => router.history.back());
    await search({});
  });
});
