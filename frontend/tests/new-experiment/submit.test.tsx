import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Fault } from "@/lib/client/types.gen";
import { PLAN, planned } from "../support/fixtures/catalogue";
import { comparison, experiment } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";
import { card, openForm, part, refill, settled, shownDocument } from "./form";

const server = apiServer();
const start = () => screen.getByTestId("start");

/** The different keys that submissions carried. */
function keys() {
  return [...new Set(server.askedFor("POST /experiments").map(({ headers }) => headers["idempotency-key"]))];
}

/** What the page of a started experiment asks for. */
function answerExperiment() {
  server
    .on("POST /experiments", experiment({ id: "exp_42" }))
    .on("GET /experiments/*", experiment({ id: "exp_42" }))
    .on("GET /experiments/*/comparison", comparison())
    .on("GET /experiments/*/bands", {
      axis: "clock",
      unit: "s",
      position: 0,
      version: "",
      since: null,
      bands: [],
    })
    .on("GET /runs", { items: [], next_cursor: null });
}

describe("the plan", () => {
  it("counts the runs per cluster, and lists every one", async () => {
    const { user } = await openForm(server);
    const virtual = { cluster: "10gbe", workers: 8, simulated: true };
    server.on("POST /experiments/dry-run", {
      runs: [...PLAN.runs, planned("Sync EASGD", 0, virtual), planned("Original EASGD", 1, virtual)],
      trial_runs: 0,
      reported_runs: 5,
      warnings: [],
      durations: [],
      memory: [],
    });
    await refill(user, screen.getByLabelText("Batch"), "16");
    await waitFor(() => expect(screen.getByTestId("plan-total")).toHaveTextContent("5 runs"));
    const [counts] = part("plan").getAllByRole("table");
    const lines = within(counts as HTMLElement).getAllByRole("row");
    expect(lines.map((line) => line.textContent)).toEqual([
      "ClusterWorkersRuns",
      "local 2 workers3",
      "10gbe simulated8 workers2",
    ]);
    const runs = within(screen.getByTestId("planned-runs")).getAllByRole("row");
    expect(runs.at(-1)).toHaveTextContent("Original EASGD10gbe8seed 1");
  });

  it("is asked once typing pauses, with the document as it then stands", async () => {
    await openForm(server);
    await settled();
    const before = server.askedFor("POST /experiments/dry-run").length;
    // with no time between them: on a busy machine a pause of its own would be a question
    for (const value of ["", "1", "12", "128"])
      fireEvent.change(screen.getByLabelText("Batch"), { target: { value } });
    expect(screen.getByTestId("plan")).toHaveAttribute("data-settled", "false");
    expect(start()).toBeDisabled();
    await settled();
    const asked = server.askedFor("POST /experiments/dry-run").slice(before);
    expect(asked.map(({ body }) => body)).toEqual([expect.objectContaining({ batch: 128 })]);
    expect(start()).toBeEnabled();
  });

  it("is not asked again for what it was asked for within the last minute", async () => {
    const { user } = await openForm(server);
    await settled();
    const before = server.askedFor("POST /experiments/dry-run").length;
    for (const value of ["64", "128", "64"]) {
      await refill(user, screen.getByLabelText("Batch"), value);
      await settled();
    }
    const asked = server.askedFor("POST /experiments/dry-run").slice(before);
    expect(asked.map(({ body }) => (body as { batch: number }).batch)).toEqual([64, 128]);
    expect(start()).toBeEnabled();
  });

  it("shows at most 200 runs by name and counts the others", async () => {
    const { user } = await openForm(server);
    const runs = Array.from({ length: 1234 }, (_, seed) => planned("Sync EASGD", seed));
    server.on("POST /experiments/dry-run", { ...PLAN, runs });
    await refill(user, screen.getByLabelText("Batch"), "16");
    expect(await screen.findByText("and 1,034 more")).toBeInTheDocument();
    expect(screen.getByTestId("plan-total")).toHaveTextContent("1,234 runs");
    expect(within(screen.getByTestId("planned-runs")).getAllByRole("row")).toHaveLength(1 + 200);
  });

  it("says what the server warns of, and leads to the field", async () => {
    const { user } = await openForm(server);
    const pointer = "/variants/1/parameters/lr";
    server.on("POST /experiments/dry-run", { ...PLAN, warnings: [{ pointer, message: "rather large" }] });
    await refill(user, card(1).getByLabelText("Learning rate"), "4");
    const warning = await screen.findByRole("button", { name: "variant 2, lr: rather large" });
    await settled();
    expect(start()).toBeEnabled();
    await user.click(warning);
    expect(card(1).getByLabelText("Learning rate")).toHaveFocus();
  });
});

describe("faults", () => {
  async function withFaults(faults: Fault[]) {
    const app = await openForm(server);
    server.on("POST /experiments/dry-run", new Refusal(422, "The specification has faults.", faults));
    await refill(app.user, screen.getByLabelText("Batch"), "16");
    await settled();
    expect(screen.getByTestId("faults")).toBeVisible();
    return app;
  }

  it("are shown at their field, or the nearest, and lead to it", async () => {
    const fields: [string, () => HTMLElement][] = [
      ["/budget/samples", () => screen.getByLabelText(/^Samples/)],
      ["/variants/1/parameters/lr", () => card(1).getByLabelText("Learning rate")],
      ["/variants/0/name", () => card(0).getByLabelText("Name")],
      ["/variants/0/algorithm", () => card(0).getByRole("combobox", { name: "Algorithm" })],
      ["/clusters/0/workers/1", () => screen.getByLabelText("Workers")],
      ["/budget/max_stall_seconds", () => screen.getByLabelText("Stall limit")],
    ];
    const { user } = await withFaults(fields.map(([pointer]) => ({ pointer, message: `wrong: ${pointer}` })));
    expect(start()).toHaveTextContent("Fix 6 problems to start");
    for (const [at, [pointer, field]] of fields.entries()) {
      expect(field()).toBeInvalid();
      expect(field()).toHaveAccessibleDescription(new RegExp(`wrong: ${pointer}( |$)`));
      await user.click(screen.getAllByTestId("fault")[at] as HTMLElement);
      expect(field()).toHaveFocus();
    }
    expect(screen.getByLabelText("Batch")).toBeValid();
  });

  it("of the list itself are shown above it", async () => {
    await withFaults([
      { pointer: "/variants", message: "two are called alike" },
      { pointer: "/baseline", message: "is no variant" },
    ]);
    expect(start()).toHaveTextContent("Fix 2 problems to start");
    expect(part("variants").getByText("two are called alike")).toBeVisible();
    expect(part("variants").getByText("Baseline: is no variant")).toBeVisible();
  });

  it("inside closed details open them", async () => {
    const pointer = "/variants/0/communication/wire";
    const { user } = await withFaults([{ pointer, message: "not here" }]);
    const wire = card(0).getByLabelText("Wire type");
    expect(wire.closest("details")).not.toHaveAttribute("open");
    await user.click(screen.getByRole("button", { name: /variant 1, communication wire: not here/ }));
    expect(wire.closest("details")).toHaveAttribute("open");
    expect(wire).toHaveFocus();
  });

  it("forbid the start, until they are mended", async () => {
    const { user } = await withFaults([{ pointer: "/batch", message: "at most 8" }]);
    expect(start()).toBeDisabled();
    server.on("POST /experiments/dry-run", PLAN);
    await refill(user, screen.getByLabelText("Batch"), "8");
    await waitFor(() => expect(start()).toBeEnabled());
    expect(screen.getByLabelText("Batch")).toBeValid();
    expect(screen.queryByTestId("faults")).toBeNull();
  });

  it("that name no place are told as they are", async () => {
    const { user } = await openForm(server);
    server.on("POST /experiments/dry-run", new Refusal(400, "The body is too large."));
    await refill(user, screen.getByLabelText("Batch"), "16");
    expect(await screen.findByText("The experiment cannot be checked")).toBeVisible();
    expect(screen.getByText("The body is too large.")).toBeVisible();
    expect(start()).toBeDisabled();
  });
});

describe("Start", () => {
  it("sends the document exactly, under one key even when clicked twice, and opens the experiment", async () => {
    answerExperiment();
    const { user, address } = await openForm(server);
    await refill(user, screen.getByLabelText(/Name of the experiment/), "Exactly this");
    await refill(user, screen.getByLabelText("Stall limit"), "90");
    const expected = await shownDocument(user);
    await settled();
    await user.dblClick(start());
    await screen.findByTestId("experiment-name");
    expect(address()).toBe("/experiments/exp_42");
    for (const { body } of server.askedFor("POST /experiments")) expect(body).toEqual(expected);
    expect(keys()).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(expected).toEqual({
      schema: "hooke.experiment/1",
      name: "Exactly this",
      description: "",
      workload: { name: "digits-mlp", parameters: {} },
      batch: 32,
      sharding: "iid",
      variants: [
        { name: "Original EASGD", algorithm: "original-easgd", parameters: {} },
        { name: "Sync EASGD", algorithm: "sync-easgd", parameters: {} },
      ],
      baseline: "Original EASGD",
      clusters: [{ name: "local", workers: ["auto"], seeds: 3 }],
      first_seed: 0,
      budget: { samples: 120_000, max_stall_seconds: 90 },
      target: { metric: "validation_accuracy", value: 0.97 },
      evaluation: { every: 2000 },
    });
  });

  it("says why it was refused beside the plan; another try is the same submission, another draft is not", async () => {
    const { user } = await openForm(server);
    server.on("POST /experiments", new Refusal(503, "The queue is full."));
    await settled();
    await user.click(start());
    expect(await screen.findByText("The experiment could not be started")).toBeVisible();
    expect(screen.getByText("The queue is full.")).toBeVisible();
    expect(screen.getByTestId("plan-total")).toHaveTextContent("3 runs");
    await user.click(start());
    await waitFor(() => expect(server.askedFor("POST /experiments")).toHaveLength(2));
    expect(keys()).toHaveLength(1);
    answerExperiment();
    await refill(user, screen.getByLabelText("Batch"), "8");
    expect(screen.queryByText("The experiment could not be started")).toBeNull();
    await settled();
    await user.click(start());
    await screen.findByTestId("experiment-name");
    expect(keys()).toHaveLength(2);
  });

  it("shows a fault that only the submission found, until the form is changed", async () => {
    const { user } = await openForm(server);
    const fault = { pointer: "/clusters/0/name", message: "has gone offline" };
    server.on("POST /experiments", new Refusal(422, "The specification has faults.", [fault]));
    await settled();
    await user.click(start());
    expect(await screen.findByTestId("faults")).toHaveTextContent("Fix 1 problem to start");
    expect(screen.getByLabelText("Cluster")).toHaveAccessibleDescription(/has gone offline/);
    await refill(user, screen.getByLabelText("Batch"), "8");
    expect(screen.queryByTestId("faults")).toBeNull();
  });
});
