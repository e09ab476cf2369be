import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { openApp } from "../support/app";
import { CATALOGUE, cluster, PLAN, workload } from "../support/fixtures/catalogue";
import { comparison, SPEC } from "../support/fixtures/experiment";
import { search, trial, tuned, tuning } from "../support/fixtures/tuning";
import { apiServer, Refusal } from "../support/server";
import { answerTuned, card, cells, looks, only, openTuned, rows } from "./tuned-page";

const server = apiServer();
beforeEach(() => answerTuned(server));
const open = (answer = tuning(), address?: string) => openTuned(server, answer, address);

describe("the section", () => {
  it("is not there, and nothing is asked, where parameters are as given", async () => {
    server.on("GET /experiments/*", { ...tuned(), spec: SPEC });
    openApp(server, "/experiments/exp_7");
    await screen.findByTestId("runs-table");
    expect(screen.queryByTestId("tuning")).toBeNull();
    expect(server.askedFor("GET /experiments/*/tuning")).toEqual([]);
  });

  it("says that all is done, and with which budgets", async () => {
    await open();
    expect(screen.getByTestId("tuning-state")).toHaveTextContent("Complete: 27 trial runs");
    const words = "Per variant 8 trials with 60,000 samples, then the best 4 with 120,000; a trial that met";
    expect(screen.getByTestId("tuning")).toHaveTextContent(words);
  });

  it("says how far it is", async () => {
    const going = { rank: null, seconds: null, accuracy: null, open: 1 } as const;
    const trials = [trial(1), trial(2), trial(3, going), trial(4, { ...going, runs: [], open: 0 })];
    await open(tuning({ complete: false, searches: [search({ trials, ended: false, chosen: null })] }));
    expect(screen.getByTestId("tuning-state")).toHaveTextContent("2 of at most 8 trial runs, rung 1 of 2");
    expect(card().getByTestId("chosen")).toHaveTextContent("rung 1: 2 of 3 runs so far have ended");
    expect(rows().map((row) => cells(row).at(-1))).toEqual(["1", "1", "1, 1 open", "0"]);
    expect(looks("response")).toEqual(["1 usual", "2 usual"]);
  });

  it("says which trials another experiment made, and counts its own", async () => {
    const trials = [trial(1), trial(2), trial(3), trial(4)];
    const continued = search({ trials, earlier_trials: 2 });
    await open(tuning({ tuning: { trials: 2, continues: "exp_3" }, searches: [continued] }));
    expect(screen.getByTestId("tuning-state")).toHaveTextContent("Complete: 2 trial runs");
    const link = within(screen.getByTestId("continues")).getByRole("link", { name: "another experiment" });
    expect(link).toHaveAttribute("href", "/experiments/exp_3");
    expect(rows()).toHaveLength(4);
  });

  it("says why it is missing, and asks again", async () => {
    const why = "its clusters have changed since its submission";
    server.on("GET /experiments/*/tuning", new Refusal(409, why));
    const { user } = openApp(server, "/experiments/exp_7");
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent(`The tuning could not be loaded. ${why}`);
    server.on("GET /experiments/*/tuning", tuning());
    await user.click(within(alert).getByRole("button", { name: "Try again" }));
    expect(await screen.findAllByTestId("search")).toHaveLength(3);
  });

  it("follows the runs of this experiment, and not every point of theirs", async () => {
    const { live } = await open();
    await live();
    const asked = (what: "GET /runs" | "GET /experiments/*/tuning") => server.askedFor(what).length;
    const [runs, tunings] = [asked("GET /runs"), asked("GET /experiments/*/tuning")];
    server.send("points", { id: "run_21", experiment_id: "exp_7", samples: 500, accuracy: 0.5 }, 1);
    await waitFor(() => expect(asked("GET /runs")).toBeGreaterThan(runs));
    expect(asked("GET /experiments/*/tuning")).toBe(tunings);
    server.on("GET /experiments/*/tuning", only({ ended: false, trials: [trial(1)] }));
    server.send("run", { id: "run_21", experiment_id: "exp_7", state: "succeeded", attempt: 1 }, 2);
    await waitFor(() => expect(screen.getAllByTestId("search")).toHaveLength(1));
    expect(asked("GET /experiments/*/tuning")).toBe(tunings + 1);
  });
});

describe("a search", () => {
  it("shows its chosen setting when closed, and the rest when opened", async () => {
    const { user } = await open();
    expect(screen.getAllByTestId("search").map((one) => one.dataset.variant)).toEqual([
      "Original EASGD",
      "Sync EASGD",
      "Hogwild EASGD",
    ]);
    expect(card(1).getByTestId("chosen")).toHaveTextContent(
      "chosen: trial 6lr 0.29momentum 0.4kind nesterov",
    );
    expect(card(1).queryByTestId("trials-table")).toBeNull();
    await user.click(card(1).getByText("Sync EASGD"));
    expect(await card(1).findByTestId("trials-table")).toBeVisible();
    expect(card(0).queryByText("simulated")).toBeNull();
    expect(card(2).getByText("simulated")).toBeVisible();
  });

  it("lists its trials by rank, and marks the one that is chosen", async () => {
    await open(only());
    const table = rows().map(cells);
    expect(table.map(([, name]) => name)).toEqual(["6chosen", "2", "1", "4", "3", "5", "8", "7"]);
    expect(table[0]).toEqual(["1", "6chosen", "0.29", "0.4", "nesterov", "500 ms", "97.00%", "1", "1"]);
    expect(table[2]).toEqual(["3", "1", "0.005", "0.1", "heavy", "1 s", "97.00%", "2", "2"]);
    expect(table[4]).toEqual(["5", "3", "0.015", "0.3", "heavy", "missed", "80.00%", "1", "1"]);
    expect(table[7]).toEqual(["8", "7", "0.035", "0.7", "heavy", "–", "–", "1", "1, 1 failed"]);
    expect(within(rows()[2] as HTMLElement).getByRole("link")).toHaveAttribute("href", "/runs/run_11");
    expect(rows().map((row) => row.dataset.chosen)).toEqual(["true", ...Array(7).fill("false")]);
  });

  it("tells what a setting is worth, and what the search has cost", async () => {
    await open(only());
    const facts = card().getByTestId("search-facts");
    const terms = within(facts)
      .getAllByRole("term")
      .map((term) => [term.textContent, term.nextElementSibling?.textContent?.trim()]);
    expect(terms).toEqual([
      ["Best trial", "500 ms"],
      ["Median trial", "4.5 s"],
      ["Reached the target", "50% of trials"],
      ["Cost of the search", "90,000 samples, 0.0125 core hours"],
    ]);
  });

  it("calls virtual seconds virtual, and a median that missed the target so", async () => {
    await open(only({ simulated: true, median_seconds: null }));
    expect(card().getByTestId("search-facts")).toHaveTextContent("Best trial500 ms virtual");
    expect(card().getByTestId("search-facts")).toHaveTextContent("Median trialmissed the target");
    expect(card().getByRole("columnheader", { name: "Time to target (virtual s)" })).toBeVisible();
    expect(within(screen.getByTestId("parallel")).getByText("virtual time")).toBeVisible();
  });

  it("says that no trial gave a result", async () => {
    const lost = trial(1, { seconds: null, accuracy: null, failed: 1 });
    await open(
      only({ trials: [lost], chosen: null, edges: {}, wider: {}, reached: null, median_seconds: null }),
    );
    expect(card().getByTestId("chosen")).toHaveTextContent("No trial gave a result");
    expect(looks("response")).toEqual(["1 failed"]);
  });

  it("that has nothing to search has no charts", async () => {
    await open(
      only({ spaces: {}, trials: [trial(1, { parameters: {}, chosen: true })], edges: {}, wider: {} }),
    );
    expect(screen.queryByTestId("response")).toBeNull();
    expect(cells(rows()[0])).toEqual(["1", "1chosen", "1 s", "97.00%", "1", "1"]);
  });

  it("shows the best of many trials, and all on demand", async () => {
    const { user } = await open(only({ trials: Array.from({ length: 30 }, (_, i) => trial(i + 1)) }));
    expect(rows()).toHaveLength(8);
    await user.click(card().getByRole("button", { name: "Show all 30 trials" }));
    expect(rows()).toHaveLength(30);
  });
});

describe("a chosen value at the edge of its space", () => {
  it("is flagged, and leads to the form with a wider space", async () => {
    server
      .on("GET /algorithms", CATALOGUE)
      .on("GET /workloads", { items: [workload("digits-mlp")] })
      .on("GET /clusters", { items: [cluster("local")] })
      .on("POST /experiments/dry-run", PLAN);
    const { user } = await open(only());
    expect(card().getByTestId("edges")).toHaveTextContent(
      "lr = 0.29 lies at the upper edge of its space (0.003 to 0.3, log): a better value may lie beyond.",
    );
    expect(card().getByText("0.29", { selector: "strong" }).parentElement).toHaveAttribute(
      "data-edge",
      "high",
    );
    await user.click(card().getByRole("link", { name: "Widen and continue" }));
    await screen.findByTestId("form");
    await user.click(screen.getByRole("tab", { name: "JSON" }));
    const editor: HTMLTextAreaElement = await screen.findByLabelText("Specification as JSON");
    const { spec } = tuned();
    const variants = spec.variants.map((variant) =>
      variant.name === "Sync EASGD"
        ? { ...variant, search: { lr: { low: 0.003, high: 3, scale: "log" } } }
        : variant,
    );
    expect(JSON.parse(editor.value)).toEqual({
      ...spec,
      variants,
      tuning: { ...spec.tuning, continues: "exp_7" },
    });
  });

  it("is widened with all others by one click, in one space for all places", async () => {
    const space = (low: number, high: number) => ({ low, high, scale: "log" as const, when: {} });
    await open(
      tuning({
        searches: [
          search({ wider: { lr: space(0.003, 3) } }),
          search({ workers: 4, wider: { lr: space(0.001, 0.3) } }),
          search({ variant: "Original EASGD", wider: { rho: space(1, 2) } }),
        ],
      }),
    );
    expect(screen.getByTestId("widen-all")).toHaveTextContent("2 choices lie at the edge of a space.");
    const link = within(screen.getByTestId("widen-all")).getByRole("link").getAttribute("href") ?? "";
    const asked = new URL(link, "http://hooke").searchParams;
    expect(asked.get("clone")).toBe("exp_7");
    expect(JSON.parse(asked.get("wider") ?? "")).toEqual([
      { variant: "Sync EASGD", spaces: { lr: space(0.001, 3) } },
      { variant: "Original EASGD", spaces: { rho: space(1, 2) } },
    ]);
  });

  it("among choices asks for more of them", async () => {
    await open(only({ edges: { kind: "low" }, wider: {} }));
    expect(card().getByTestId("edges")).toHaveTextContent(
      "kind = nesterov lies at the lower edge of its space (heavy, nesterov): a better value may lie beyond; add choices to look there.",
    );
    expect(card().queryByTestId("widen")).toBeNull();
  });

  it("is not spoken of where there is none", async () => {
    await open();
    expect(card(0).queryByTestId("edges")).toBeNull();
  });
});

describe("the verdict of a tuned experiment", () => {
  it("says on which tuning it stands", async () => {
    server.on(
      "GET /experiments/*/comparison",
      comparison({ tuning: "Each setting is the best of 8 trials." }),
    );
    await open();
    expect(screen.getByTestId("effort")).toHaveTextContent("Each setting is the best of 8 trials.");
  });

  it("says how its trials ended where nothing was measured", async () => {
    const sentence = "On local (2 workers), nothing was measured: A (8 diverged).";
    server.on(
      "GET /experiments/*/comparison",
      comparison({ rows: [], sentences: [sentence], complete: true }),
    );
    await openApp(server, "/experiments/exp_7");
    expect(await screen.findByTestId("unmeasured")).toHaveTextContent(sentence);
    await screen.findByTestId("runs-table");
  });

  it("says what it waits for while settings are chosen", async () => {
    server.on("GET /experiments/*/comparison", comparison({ rows: [], sentences: [], complete: false }));
    openApp(server, "/experiments/exp_7");
    expect(
      await screen.findByText("Reported runs start when the trials have chosen the settings."),
    ).toBeVisible();
    await screen.findByTestId("runs-table");
  });
});
