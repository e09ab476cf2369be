import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { ExperimentSpec } from "@/lib/client/types.gen";
import { PLAN, planned } from "../support/fixtures/catalogue";
import { experiment, SPEC } from "../support/fixtures/experiment";
import { SEARCHED_CATALOGUE } from "../support/fixtures/tuning";
import { apiServer, Refusal } from "../support/server";
import { CLUSTERS, card, openForm, part, refill, settled, shownDocument } from "./form";

const server = apiServer();

async function open(address = "/new") {
  const app = await openForm(server, address, CLUSTERS, SEARCHED_CATALOGUE);
  return { ...app, on: () => app.user.click(screen.getByTestId("has-tuning")) };
}

const TUNED: ExperimentSpec = {
  ...SPEC,
  variants: [
    { name: "Sync EASGD", algorithm: "sync-easgd", parameters: {}, search: { lr: { low: 0.01, high: 0.1 } } },
    { name: "Other", algorithm: "sync-easgd", parameters: {}, search: { kind: null } },
  ],
  baseline: "Sync EASGD",
  tuning: { trials: 8, search: "halving" },
};

describe("the plan of a tuned experiment", () => {
  it("tells trials from the runs that are reported", async () => {
    const { on } = await open();
    await settled();
    server.on("POST /experiments/dry-run", {
      ...PLAN,
      runs: [1, 2, 3].map((trial) => planned("Sync EASGD", 1_000_003, { trial, rung: 0 })),
      trial_runs: 24,
      reported_runs: 1,
    });
    await on();
    await waitFor(() =>
      expect(screen.getByTestId("plan-total")).toHaveTextContent("24 trial runs at most, 1 reported run"),
    );
    expect(part("plan").getByText(/First 3 runs of trials:/)).toBeVisible();
    expect(screen.getByTestId("plan-bar")).toHaveTextContent("24 trial runs at most, 1 reported");
    const runs = within(screen.getByTestId("planned-runs")).getAllByRole("row");
    expect(runs.map((row) => row.textContent)).toEqual([
      "VariantClusterWorkersSeed or trial",
      "Sync EASGDlocal2trial 1",
      "Sync EASGDlocal2trial 2",
      "Sync EASGDlocal2trial 3",
    ]);
    const asked = server.askedFor("POST /experiments/dry-run").at(-1);
    expect(asked?.body).toMatchObject({ tuning: {} });
  });
});

describe("faults of a tuning", () => {
  it("are shown at their field, or in the row of their space, and lead to it", async () => {
    const { user, on } = await open();
    const row = () => card(1).getByRole("rowheader", { name: /^Learning rate/ });
    const fields: [string, () => HTMLElement][] = [
      ["/tuning/trials", () => part("tuning").getByLabelText("Trials")],
      ["/tuning/cluster", () => part("tuning").getByLabelText("Trials on")],
      ["/variants/1/search/lr/low", () => card(1).getByLabelText("Learning rate, low")],
      ["/variants/1/search/kind/choices/0", () => card(1).getByLabelText("Kind of momentum, choices")],
    ];
    const faults = fields.map(([pointer]) => ({ pointer, message: `wrong: ${pointer}` }));
    const whole = { pointer: "/variants/1/search/lr", message: "`low` must be less than `high`" };
    server.on("POST /experiments/dry-run", new Refusal(422, "It has faults.", [...faults, whole]));
    await on();
    await settled();
    await waitFor(() => expect(screen.getByTestId("start")).toHaveTextContent("Fix 5 problems to start"));
    expect(screen.getByTestId("plan-bar")).toHaveTextContent("Fix 5 problems to start");
    for (const [at, [pointer, field]] of fields.entries()) {
      expect(field()).toBeInvalid();
      expect(field()).toHaveAccessibleDescription(new RegExp(`wrong: ${pointer}( |$)`));
      await user.click(screen.getAllByTestId("fault")[at] as HTMLElement);
      expect(field()).toHaveFocus();
    }
    expect(row()).toHaveTextContent("low must be less than high");
    await user.click(screen.getAllByTestId("fault")[4] as HTMLElement);
    expect(row().closest("tr")).toHaveFocus();
  });

  it("of the whole tuning stand at its switch, of a whole search above its table", async () => {
    const { on } = await open();
    const faults = [
      { pointer: "/tuning", message: "too many runs" },
      { pointer: "/variants/1/search", message: "no setting in this space can run on 8 workers" },
    ];
    server.on("POST /experiments/dry-run", new Refusal(422, "It has faults.", faults));
    await on();
    await waitFor(() => {
      // at one moment: while another plan is asked for, the faults of the one before are not shown
      expect(part("tuning").getByText("too many runs")).toBeVisible();
      expect(
        within(card(1).getByTestId("search-spaces")).getByText(/no setting in this space/),
      ).toBeVisible();
    });
  });
});

describe("a tuned experiment that is cloned", () => {
  it("keeps its tuning and its spaces", async () => {
    server.on("GET /experiments/*", experiment({ spec: TUNED }));
    const { user } = await open("/new?clone=exp_7");
    expect(screen.getByTestId("has-tuning")).toBeChecked();
    expect(part("tuning").getByLabelText("Trials")).toHaveValue("8");
    expect(card(0).getByLabelText("Learning rate, high")).toHaveValue("0.1");
    expect(await shownDocument(user)).toEqual(TUNED);
  });

  it("has the wider spaces of its address, for the variant that is named", async () => {
    server.on("GET /experiments/*", experiment({ spec: TUNED }));
    const wider = { variant: "Other", spaces: { lr: { low: 0.003, high: 3, scale: "log", when: {} } } };
    const { user } = await open(`/new?clone=exp_7&wider=${encodeURIComponent(JSON.stringify([wider]))}`);
    expect(card(1).getByLabelText("Learning rate, high")).toHaveValue("3");
    const { variants, tuning } = await shownDocument(user);
    expect(tuning).toEqual({ ...TUNED.tuning, continues: "exp_7" });
    expect(variants[0]).toEqual(TUNED.variants[0]);
    expect(variants[1]?.search).toEqual({ kind: null, lr: { low: 0.003, high: 3, scale: "log" } });
  });

  it("counts the trials of the one that it continues, until they are given up", async () => {
    server.on("GET /experiments/*", experiment({ spec: TUNED }));
    const wider = JSON.stringify([{ variant: "Other", spaces: { lr: { low: 0.003, high: 3 } } }]);
    const { user } = await open(`/new?clone=exp_7&wider=${encodeURIComponent(wider)}`);
    expect(screen.getByTestId("continues")).toHaveTextContent("its trials are reused");
    await user.click(screen.getByRole("button", { name: "Do not reuse earlier trials" }));
    expect(screen.queryByTestId("continues")).toBeNull();
    expect((await shownDocument(user)).tuning).toEqual(TUNED.tuning);
  });

  it("is submitted as it stands in the form", async () => {
    server.on("GET /experiments/*", experiment({ spec: TUNED }));
    const { user } = await open("/new?clone=exp_7");
    await refill(user, part("tuning").getByLabelText("Trials"), "4");
    await settled();
    server.on("POST /experiments", new Refusal(503, "The queue is full."));
    await user.click(screen.getByTestId("start"));
    await screen.findByText("The experiment could not be started");
    const [sent] = server.askedFor("POST /experiments");
    expect(sent?.body).toEqual({ ...TUNED, tuning: { trials: 4, search: "halving" } });
  });
});
