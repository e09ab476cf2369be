import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { BudgetSection, WorkloadSection } from "@/features/new-experiment/basics-section";
import { ClustersSection } from "@/features/new-experiment/clusters-section";
import { ExecutionSection } from "@/features/new-experiment/execution-section";
import { CATALOGUE, cluster } from "../support/fixtures/catalogue";
import { CLUSTERS, clusterCard, part, refill, showParts, WORKLOADS } from "./form";

const showClusters = () => showParts(<ClustersSection clusters={CLUSTERS} />);
const showExecution = () => showParts(<ExecutionSection compute={CATALOGUE.compute} />);
const showBasics = () =>
  showParts(
    <>
      <WorkloadSection workloads={WORKLOADS} />
      <BudgetSection workloads={WORKLOADS} />
    </>,
  );

describe("clusters", () => {
  it("are added from those that registered, offline ones marked", async () => {
    const { user, written } = showClusters();
    await user.click(part("clusters").getByRole("button", { name: "Add cluster" }));
    expect(await screen.findByRole("menuitem", { name: "local (8 cores)" })).toBeVisible();
    await user.click(screen.getByRole("menuitem", { name: "rack (64 cores, offline)" }));
    expect(clusterCard(1).getByLabelText("Cluster")).toHaveDisplayValue("rack (offline)");
    expect(written().clusters).toEqual([
      { name: "local", workers: ["auto"], seeds: 3 },
      { name: "rack", workers: ["auto"], seeds: 3 },
    ]);
  });

  it.each([
    ["10 GbE", { name: "10gbe", latency: 7.2e-6, perByte: 0.9e-9, shown: "7.2 µs per message, 1.11 GB/s" }],
    [
      "FDR InfiniBand (typical)",
      { name: "fdr", latency: 0.7e-6, perByte: 0.2e-9, shown: "0.7 µs per message, 5 GB/s" },
    ],
    [
      "QDR InfiniBand (typical)",
      { name: "qdr", latency: 1.2e-6, perByte: 0.3e-9, shown: "1.2 µs per message, 3.33 GB/s" },
    ],
  ])("are simulated over %s, and marked so", async (label, { name, latency, perByte, shown }) => {
    const { user, written } = showClusters();
    await user.click(part("clusters").getByRole("button", { name: "Add virtual cluster" }));
    await user.click(await screen.findByRole("menuitem", { name: label }));
    expect(clusterCard(1).getByText("simulated")).toBeVisible();
    expect(clusterCard(1).getByLabelText("Network")).toHaveDisplayValue(label);
    expect(clusterCard(1).getByLabelText("Network")).toHaveAccessibleDescription(shown);
    expect(clusterCard(1).queryByLabelText("Latency")).toBeNull();
    expect(clusterCard(1).getByLabelText("Computed on")).toHaveDisplayValue("local");
    expect(written().clusters[1]).toEqual({
      name,
      computed_on: "local",
      workers: [8],
      seeds: 5,
      virtual: { latency, seconds_per_byte: perByte },
    });
    expect(clusterCard(0).queryByText("simulated")).toBeNull();
  });

  it("take the constants of a network as typed, and none where a field is empty", async () => {
    const { user, written } = showClusters();
    await user.click(part("clusters").getByRole("button", { name: "Add virtual cluster" }));
    await user.click(await screen.findByRole("menuitem", { name: "10 GbE" }));
    await user.selectOptions(clusterCard(1).getByLabelText("Network"), "Custom");
    expect(clusterCard(1).getByLabelText("Seconds per byte")).toHaveValue("9e-10");
    await refill(user, clusterCard(1).getByLabelText("Latency"), "1e-3");
    await refill(user, clusterCard(1).getByLabelText("Seconds per byte to a server"), "2e-9");
    await refill(user, clusterCard(1).getByLabelText("Jitter"), "0");
    await refill(user, clusterCard(1).getByLabelText("Source of the compute time"), "an A100");
    const virtual = { latency: 1e-3, seconds_per_byte: 0.9e-9, compute_jitter: 0, compute_source: "an A100" };
    expect(written().clusters[1]?.virtual).toEqual({
      ...virtual,
      host_seconds_per_byte: 2e-9,
    });
    await user.clear(clusterCard(1).getByLabelText("Seconds per byte to a server"));
    expect(written().clusters[1]?.virtual).toEqual({
      ...virtual,
      host_seconds_per_byte: null,
    });
  });

  it("are like a calibrated one, which has all constants, and over a known network again", async () => {
    const { user, written } = showClusters();
    await user.click(part("clusters").getByRole("button", { name: "Add virtual cluster" }));
    await user.click(await screen.findByRole("menuitem", { name: "10 GbE" }));
    await refill(user, clusterCard(1).getByLabelText("Jitter"), "0");
    await user.selectOptions(clusterCard(1).getByLabelText("Network"), "Like rack, as calibrated");
    expect(written().clusters[1]?.virtual).toEqual({ like: "rack" });
    expect(clusterCard(1).queryByLabelText("Jitter")).toBeNull();
    await user.selectOptions(clusterCard(1).getByLabelText("Network"), "QDR InfiniBand (typical)");
    expect(written().clusters[1]?.virtual).toEqual({ latency: 1.2e-6, seconds_per_byte: 0.3e-9 });
  });

  it.each([
    ["2, 4 8", [2, 4, 8]],
    ["auto", ["auto"]],
    ["two", ["two"]],
    ["", []],
  ])("read workers typed as “%s”", async (typed, workers) => {
    const { user, written } = showClusters();
    await refill(user, clusterCard(0).getByLabelText("Workers"), typed);
    expect(clusterCard(0).getByLabelText("Workers")).toHaveValue(typed);
    expect(written().clusters[0]?.workers).toEqual(workers);
  });

  it("are removed, the right one", async () => {
    const { user, written } = showClusters();
    await user.click(part("clusters").getByRole("button", { name: "Add cluster" }));
    await user.click(await screen.findByRole("menuitem", { name: /rack/ }));
    await user.click(clusterCard(0).getByRole("button", { name: "Remove" }));
    expect(written().clusters).toEqual([{ name: "rack", workers: ["auto"], seeds: 3 }]);
  });

  it("say which file of a user's they cannot offer", () => {
    const fault = { kind: "algorithm", name: "gossip", file: "gossip.py", error: "no class Gossip" } as const;
    showParts(<ClustersSection clusters={[cluster("local", { problems: [fault] })]} />);
    expect(screen.getByTestId("file-problems")).toHaveTextContent(
      "local does not offer your algorithm gossip (gossip.py): no class Gossip",
    );
  });
});

describe("workload", () => {
  it("brings its own target and parameters", async () => {
    const { user, written } = showBasics();
    await refill(user, part("workload").getByLabelText("Width"), "64");
    expect(written().workload).toEqual({ name: "digits-mlp", parameters: { hidden: 64 } });
    await user.selectOptions(part("workload").getByLabelText("Workload"), "cifar-cnn");
    expect(part("budget").getByLabelText("Target value")).toHaveValue("0.8");
    expect(written()).toMatchObject({
      workload: { name: "cifar-cnn", parameters: {} },
      target: { metric: "validation_accuracy", value: 0.8 },
    });
  });

  it("leaves a target of loss as it is", async () => {
    const { user, written } = showBasics();
    await user.selectOptions(part("budget").getByLabelText("Target metric"), "validation_loss");
    await refill(user, part("budget").getByLabelText("Target value"), "0.3");
    await user.selectOptions(part("workload").getByLabelText("Workload"), "cifar-cnn");
    expect(written().target).toEqual({ metric: "validation_loss", value: 0.3 });
  });

  it("names and describes the experiment", async () => {
    const { user, written } = showBasics();
    await refill(user, screen.getByLabelText(/Name of the experiment/), "Two ways");
    await refill(user, screen.getByLabelText("Description"), "A note");
    await user.selectOptions(screen.getByLabelText("Data"), "disjoint shards");
    await refill(user, screen.getByLabelText("Batch"), "64");
    expect(written()).toMatchObject({
      name: "Two ways",
      description: "A note",
      sharding: "disjoint",
      batch: 64,
    });
  });
});

describe("budget and target", () => {
  it("can be without a target, and gets the workload's back", async () => {
    const { user, written } = showBasics();
    const wanted = screen.getByLabelText("End at a target, and compare the time to target");
    await user.click(wanted);
    expect(screen.queryByLabelText("Target value")).toBeNull();
    expect(written().target).toBeNull();
    await user.click(wanted);
    expect(written().target).toEqual({ metric: "validation_accuracy", value: 0.97 });
  });

  it.each([
    [/^Samples/, "50 000", { budget: { samples: 50_000 } }],
    [/^Evaluate every/, "500", { evaluation: { every: 500 } }],
    ["Wall limit", "60", { budget: { samples: 120_000, max_seconds: 60 } }],
    ["First seed", "11", { first_seed: 11 }],
  ])("writes %s where the specification has it", async (label, typed, expected) => {
    const { user, written } = showBasics();
    await refill(user, part("budget").getByLabelText(label), typed);
    expect(written()).toMatchObject(expected);
  });
});

describe("execution", () => {
  it("takes the longest pause into the budget, and none where it is empty", async () => {
    const { user, written } = showExecution();
    const pause = part("execution").getByLabelText("Stall limit");
    expect(pause).toHaveValue("");
    expect(pause).toHaveAccessibleDescription(/empty: 60/);
    await refill(user, pause, "90.5");
    expect(written().budget).toEqual({ samples: 120_000, max_stall_seconds: 90.5 });
    await user.clear(pause);
    expect(written().budget).toEqual({ samples: 120_000 });
  });

  it("takes checkpoints and what becomes of a bad worker", async () => {
    const { user, written } = showExecution();
    const every = part("execution").getByLabelText("Checkpoint every");
    await refill(user, every, "20_000");
    await user.selectOptions(screen.getByLabelText("NaN or Inf on a worker"), "drop");
    expect(written()).toMatchObject({ checkpoint_every: 20_000, on_bad_worker: "drop" });
    await user.clear(every);
    expect(written().checkpoint_every).toBeNull();
  });

  it("records a timeline where it is switched on, and says what that costs and where it is shown", async () => {
    const { user, written } = showExecution();
    const trace = part("execution").getByRole("switch", { name: /^Record a timeline/ });
    expect(trace).not.toBeChecked();
    expect(trace).toHaveAccessibleDescription(/on the run.s page.*20 µs per step.*8 MiB per run/);
    expect(written()).not.toHaveProperty("trace");
    await user.click(trace);
    expect(trace).toBeChecked();
    expect(written().trace).toBe(true);
    await user.click(trace);
    expect(written().trace).toBe(false);
  });

  it("describes its fields in words and code", () => {
    showExecution();
    const threads = part("execution").getByLabelText("Threads");
    expect(threads).toHaveAccessibleDescription("Of a rank; group: as many as the cores it is given");
    expect(part("execution").getByText("group").tagName).toBe("CODE");
  });

  it.each([
    ["4", 4],
    ["group", "group"],
  ])("takes %s threads", async (typed, threads) => {
    const { user, written } = showExecution();
    await refill(user, part("execution").getByLabelText("Threads"), typed);
    expect(written().compute).toEqual({ threads });
  });
});

it("further attempts follow a rule of the experiment only where it is asked for", async () => {
  const { user, written } = showExecution();
  expect(screen.queryByLabelText("Attempts")).toBeNull();
  await user.click(screen.getByTestId("has-retry"));
  await refill(user, screen.getByLabelText("Attempts"), "5");
  await user.click(screen.getByLabelText("The scheduler's time limit ended it"));
  expect(written().retry).toEqual({
    attempts: 5,
    backoff_seconds: 10,
    longest_backoff_seconds: 600,
    causes: ["infrastructure", "lost"],
  });
  await user.click(screen.getByTestId("has-retry"));
  expect(written()).not.toHaveProperty("retry");
});
