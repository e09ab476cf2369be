import { cleanup, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { asPresent } from "@/features/new-experiment/as-present";
import { measuredSo } from "@/features/new-experiment/present-variants";
import type { ExperimentView } from "@/lib/client/types.gen";
import { fieldsFromSchema } from "@/lib/json/fields-from-schema";
import { whyNotExtended, whyNoVariants } from "@/lib/keeping/extensible";
import { variantStyle } from "@/lib/theme/palette";
import { openApp } from "../support/app";
import { CATALOGUE, PLAN, planned } from "../support/fixtures/catalogue";
import { experiment, ORIGIN, SPEC } from "../support/fixtures/experiment";
import { project } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";
import { addVariant, CLUSTERS, choose, openForm, refill, row, settled, WORKLOADS } from "./form";

const server = apiServer();
const ENDED: Partial<ExperimentView> = {
  state: "succeeded",
  finished_at: "2026-05-01T12:00:00Z",
  version: 1,
};
const RUNS = [0, 1, 2].map((seed) => planned("Sync SGD", seed));

async function open(changes: Partial<ExperimentView> = {}) {
  server.on("GET /experiments/*", experiment({ ...ENDED, ...changes }));
  server.on("POST /experiments/*/extension/dry-run", { ...PLAN, runs: RUNS });
  return openForm(server, "/new?extend=exp_7");
}

/** The page that follows is not what is tested here. */
function answerPage(view: ExperimentView) {
  server.on("GET /experiments/*", view);
  server.on("GET /experiments/*/comparison", new Refusal(404, "not here"));
  server.on("GET /experiments/*/bands", new Refusal(404, "not here"));
  server.on("GET /runs", { items: [], next_cursor: null });
  server.on("POST /series", { axis: "clock", unit: "s", series: [] });
}

describe("variants may be added", () => {
  it.each<[string, Partial<ExperimentView>, RegExp]>([
    ["runs", { state: "running", finished_at: null }, /have not ended/],
    ["was imported", { origin: ORIGIN }, /was imported/],
    ["is archived", { archived: true }, /is archived/],
  ])("not while it %s, which is said in place of the form", async (_, changes, why) => {
    expect(whyNotExtended(experiment({ ...ENDED, ...changes }))).toMatch(why);
    server.on("GET /experiments/*", experiment({ ...ENDED, ...changes }));
    server.on("GET /algorithms", CATALOGUE).on("GET /workloads", { items: WORKLOADS });
    server.on("GET /clusters", { items: CLUSTERS });
    openApp(server, "/new?extend=exp_7");
    expect(await screen.findByTestId("not-extended")).toHaveTextContent(why);
    expect(screen.queryByTestId("form")).toBeNull();
  });

  it("while the project has points left; otherwise the form says so before anything is filled in", async () => {
    server.on("GET /projects", { items: [project("default", { points: 12, quota: 10 })] });
    await open();
    expect(await screen.findByTestId("quota-note")).toHaveTextContent(
      /^The project default holds 12 of the 10 points/,
    );
  });

  it("not to one that continues another, nor beyond as many as there may be", () => {
    expect(whyNoVariants(experiment(ENDED))).toBeUndefined();
    const continues = { ...SPEC, tuning: { continues: "exp_1" } };
    expect(whyNoVariants(experiment({ ...ENDED, spec: continues }))).toMatch(/fewer trials/);
    expect(whyNotExtended(experiment({ ...ENDED, spec: continues }))).toBeUndefined();
    const variants = Array.from({ length: 200 }, (_, i) => ({ name: `v${i}`, algorithm: "sync-sgd" }));
    expect(whyNoVariants(experiment({ ...ENDED, spec: { ...SPEC, variants } }))).toMatch(/200/);
  });
});

it("a new variant has the collective of the present ones from the beginning, where these have the same", () => {
  const collective = { enum: ["halving", "tree", "ring"], title: "Collective", default: "halving" };
  const catalogue = { ...CATALOGUE, communication: { type: "object", properties: { collective } } };
  const shown = (...names: ("halving" | "tree" | "ring")[]) => {
    const variants = names.map((name, i) => ({
      ...{ name: `v${i}`, algorithm: "sync-sgd", communication: { collective: name } },
    }));
    const { communication } = asPresent(catalogue, experiment({ spec: { ...SPEC, variants } }));
    return fieldsFromSchema(communication)[0]?.default;
  };
  expect([shown("tree", "tree"), shown("ring"), shown("tree", "ring"), shown()]).toEqual([
    ...["tree", "ring", "halving", "halving"],
  ]);
});

describe("how a new variant is measured", () => {
  it("is as the present ones were: on the same seeds", () => {
    expect(measuredSo(experiment())).toContain("runs on the same 3 seeds");
    const clusters = [
      { name: "local", seeds: 1 },
      { name: "rack", seeds: 5 },
    ];
    expect(measuredSo(experiment({ spec: { ...SPEC, clusters } }))).toContain("the same 1 to 5 seeds");
  });

  it("with tuning is by as many trials", () => {
    const spec = { ...SPEC, tuning: { trials: 8, seeds: 2, cluster: "local" } };
    expect(measuredSo(experiment({ spec }))).toContain(
      "gets 8 trials on local, as many as the others had, each with 2 tuning seeds",
    );
    expect(measuredSo(experiment({ spec: { ...SPEC, tuning: {} } }))).toContain(
      "gets 12 trials at each place,",
    );
  });
});

describe("the form", () => {
  it("shows what is there, asks nothing before a variant is added, and has no baseline to choose", async () => {
    const { user } = await open();
    const present = within(screen.getByTestId("present-variants"));
    expect(present.getByRole("cell", { name: /Original EASGD \(baseline\)/ })).toBeVisible();
    expect(present.getAllByRole("row")).toHaveLength(1 + 3);
    expect(screen.getByTestId("nothing-added")).toBeVisible();
    expect(screen.getByTestId("start")).toBeDisabled();
    await choose(user, addVariant(), "Sync EASGD");
    expect(await screen.findByTestId("plan-total")).toHaveTextContent("3 runs");
    expect(server.askedFor("POST /experiments/*/extension/dry-run")).toHaveLength(1);
    expect(screen.queryByTestId("baseline")).toBeNull();
    expect(row(0).getAllByLabelText("Name")[0]).toHaveValue("Sync EASGD 2"); // the name is taken
    expect(screen.getByTestId("start")).toHaveTextContent("Add 1 variant");
  });

  it("sends the new variants with the version that it began from, and goes to the experiment", async () => {
    const { user, address } = await open({ version: 2 });
    await choose(user, addVariant(), "Sync SGD");
    await refill(user, row(0).getAllByLabelText(/Learning rate/)[0] as HTMLElement, "0.3");
    await settled();
    await waitFor(() => expect(screen.getByTestId("start")).toBeEnabled());
    const view = experiment({ state: "running", version: 3 });
    answerPage(view);
    server.on("POST /experiments/*/extension", view);
    await user.click(screen.getByTestId("start"));
    await waitFor(() => expect(address()).toBe("/experiments/exp_7"));
    const body = {
      variants: [{ name: "Sync SGD", algorithm: "sync-sgd", parameters: { lr: 0.3 } }],
      version: 2,
    };
    expect(server.askedFor("POST /experiments/*/extension").map((asked) => asked.body)).toEqual([body]);
    expect(server.askedFor("POST /experiments/*/extension/dry-run").at(-1)?.body).toEqual(body);
  });

  it("stays where the event of its variants comes before the answer", async () => {
    const { user, address, live } = await open();
    await choose(user, addVariant(), "Sync SGD");
    await settled();
    await waitFor(() => expect(screen.getByTestId("start")).toBeEnabled());
    const view = experiment({ state: "running", version: 2 });
    let tell: (now: ExperimentView) => void = () => undefined;
    server.on("POST /experiments/*/extension", new Promise<ExperimentView>((now) => (tell = now)));
    await live();
    await user.click(screen.getByTestId("start"));
    const [read, clusters] = [server.askedFor("GET /experiments/*"), server.askedFor("GET /clusters")];
    answerPage(view);
    server.send("experiment", { id: view.id }, 900);
    server.send("clusters", {}, 901);
    await waitFor(() => expect(server.askedFor("GET /clusters").length).toBeGreaterThan(clusters.length));
    expect(server.askedFor("GET /experiments/*")).toHaveLength(read.length);
    tell(view);
    await waitFor(() => expect(address()).toBe(`/experiments/${view.id}`));
  });

  it("shows faults at their fields, and leads to them", async () => {
    const { user } = await open();
    const faults = [{ pointer: "/variants/0/parameters/lr", message: "must be greater than 0" }];
    server.on(
      "POST /experiments/*/extension/dry-run",
      new Refusal(422, "The extension is not valid.", faults),
    );
    await choose(user, addVariant(), "Sync SGD");
    const fault = await screen.findByTestId("fault");
    expect(fault).toHaveTextContent("variant 1, lr: must be greater than 0");
    expect(screen.getByTestId("start")).toHaveTextContent("Fix 1 problem to start");
    await user.click(fault);
    const field = row(0).getByRole("textbox", { name: /Learning rate/ });
    expect(field).toHaveFocus();
    expect(field).toBeInvalid();
    expect(field).toHaveAccessibleDescription(/must be greater than 0/);
  });

  it("says why the whole is refused", async () => {
    const { user } = await open();
    const why = "experiment 7 was extended meanwhile: it is version 2, not 1";
    server.on("POST /experiments/*/extension/dry-run", new Refusal(409, why));
    await choose(user, addVariant(), "Sync SGD");
    const said = await screen.findByTestId("faults");
    expect(said).toHaveTextContent("The experiment cannot be extended");
    expect(said).toHaveTextContent(why);
    expect(screen.getByTestId("start")).toBeDisabled();
  });

  it("counts the variants that a sweep makes, and continues the colours of those that there are", async () => {
    const { user } = await open();
    await choose(user, addVariant(), "Sync SGD");
    await choose(user, addVariant(), "DiLoCo");
    await settled();
    expect(screen.getByTestId("start")).toHaveTextContent("Add 2 variants");
    const opened = row(1).getByTestId("edit-variant");
    if (opened.getAttribute("aria-expanded") === "true") await user.click(opened);
    await user.click(row(0).getByTestId("edit-variant"));
    await user.selectOptions(row(0).getByLabelText("Sweep another parameter"), "lr");
    await refill(user, row(0).getByLabelText(/values, separated by commas/), "0.1, 0.2, 0.3");
    await waitFor(() => expect(screen.getByTestId("start")).toHaveTextContent("Add 4 variants"));
    const lines = screen.getAllByTestId("variant-card").map((one) => one.querySelector("line"));
    expect(lines.map((line) => line?.getAttribute("stroke"))).toEqual(
      [3, 6].map((index) => variantStyle(index).color),
    );
  });

  it("keeps what was left unfinished, and begins afresh when told", async () => {
    const first = await open();
    await choose(first.user, addVariant(), "Sync SGD");
    await settled();
    cleanup();
    const { user } = await open();
    expect(screen.getByTestId("draft-note")).toHaveTextContent("Your unsaved draft was restored.");
    expect(screen.getAllByTestId("variant-card")).toHaveLength(1);
    await user.click(screen.getByRole("button", { name: "Start over" }));
    expect(screen.queryByTestId("variant-card")).toBeNull();
    expect(screen.getByTestId("nothing-added")).toBeVisible();
  });

  it("says why none were added after all, and lets one try again", async () => {
    const { user } = await open();
    await choose(user, addVariant(), "Sync SGD");
    await settled();
    server.on("POST /experiments/*/extension", new Refusal(409, "experiment 7 was extended meanwhile"));
    await waitFor(() => expect(screen.getByTestId("start")).toBeEnabled());
    await user.click(screen.getByTestId("start"));
    expect(await screen.findByText("experiment 7 was extended meanwhile")).toBeVisible();
    expect(screen.getByText("The variants could not be added")).toBeVisible();
    expect(screen.getByTestId("plan-total")).toHaveTextContent("3 runs"); // the plan still stands
    expect(screen.getByTestId("start")).toBeEnabled();
  });

  it("says what a tuned experiment will run", async () => {
    const { user } = await open({ spec: { ...SPEC, tuning: { trials: 8 } } });
    expect(screen.getByTestId("measured-so")).toHaveTextContent("each new variant gets 8 trials");
    server.on("POST /experiments/*/extension/dry-run", {
      ...PLAN,
      runs: RUNS,
      trial_runs: 8,
      reported_runs: 3,
    });
    await choose(user, addVariant(), "Sync SGD");
    expect(await screen.findByTestId("plan-total")).toHaveTextContent(
      "8 trial runs at most, 3 reported runs",
    );
  });
});
