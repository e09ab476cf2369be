import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { ClustersSection } from "@/features/new-experiment/clusters-section";
import { NOTATION } from "@/features/new-experiment/devices";
import { runSummary } from "../support/fixtures/run";
import { apiServer, Refusal } from "../support/server";
import { CLUSTERS, clusterCard, part, showParts } from "./form";

const server = apiServer();
const GROUPS = [
  { kind: "hogwild-cpu", threads: 4 },
  { kind: "cpu", speed: 0.2613 },
];
const SOURCE = "measured: the workers of the run run_21, batch 32, standard errors of speeds up to 1.8%";
const COMPUTE = { compute_seconds_per_sample: 3.207e-5, compute_source: SOURCE };
const MEASURED = { name: "measured-speeds", computed_on: "rack", workers: GROUPS, virtual: COMPUTE };

const answer = (cluster: typeof MEASURED | null, why: string | null = null) =>
  server.on("GET /runs/*/workers", {
    workers: [],
    kinds: [],
    virtual_cluster: cluster,
    no_virtual_cluster: why,
  });

async function opened(runs = [runSummary(21, { experiment_number: 7 }), runSummary(22)]) {
  server.on("GET /runs", { items: runs, next_cursor: null });
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const { user, written } = showParts(
    <QueryClientProvider client={queries}>
      <ClustersSection clusters={CLUSTERS} />
    </QueryClientProvider>,
  );
  await user.click(part("clusters").getByRole("button", { name: "Add virtual cluster" }));
  await user.click(await screen.findByRole("menuitem", { name: "With the speeds of a run…" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Speeds of a run" }));
  const choose = async (name: string) => {
    await dialog.findByRole("option", { name });
    await user.selectOptions(dialog.getByLabelText("Run"), name);
  };
  return { user, written, dialog, choose };
}

const RUN = "#7 Sync EASGD, 2 workers on local, seed 0 (run_21)";

describe("a virtual cluster with the speeds of a run", () => {
  it("has a group for each worker of the run that is chosen, and a network", async () => {
    answer(MEASURED);
    const { user, written, dialog, choose } = await opened();
    const add = dialog.getByRole("button", { name: "Add cluster" });
    expect(add).toBeDisabled();
    await choose(RUN);
    const [asked] = server.askedFor("GET /runs");
    expect(asked?.query.get("filter")).toBe("not simulated and state = succeeded and workers > 1");
    expect(await dialog.findByTestId("run-speeds")).toHaveTextContent(
      `hogwild-cpu:4, cpu@0.2613; compute time ${SOURCE}.`,
    );
    expect(server.askedFor("GET /runs/*/workers").map(({ path }) => path)).toEqual([
      "/api/v1/runs/run_21/workers",
    ]);
    await user.selectOptions(dialog.getByLabelText("Network"), "QDR InfiniBand (typical)");
    await user.click(add);
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(written().clusters[1]).toEqual({
      name: "measured-speeds",
      computed_on: "rack",
      workers: [2],
      seeds: 5,
      virtual: { latency: 1.2e-6, seconds_per_byte: 0.3e-9, ...COMPUTE, devices: GROUPS },
    });
    const devices = clusterCard(1).getByLabelText("Devices");
    expect(devices).toHaveValue("hogwild-cpu:4, cpu@0.2613");
    expect(devices).toHaveAttribute("title", NOTATION);
    expect(clusterCard(1).getByLabelText("Workers")).toHaveValue("2");
  });

  it("takes all but the speeds from a calibration, whose share of a step the speeds have already", async () => {
    answer(MEASURED);
    const { user, written, dialog, choose } = await opened();
    await choose(RUN);
    await dialog.findByTestId("run-speeds");
    await user.selectOptions(dialog.getByLabelText("Network"), "Like rack, as calibrated");
    await user.click(dialog.getByRole("button", { name: "Add cluster" }));
    expect(written().clusters[1]?.virtual).toEqual({
      like: "rack",
      compute_seconds_per_step: 0,
      compute_seconds_after_exchange: 0,
      jitter_between_ranks: 0,
      ...COMPUTE,
      devices: GROUPS,
    });
    expect(clusterCard(1).getByLabelText("Devices")).toHaveValue("hogwild-cpu:4, cpu@0.2613");
  });

  it("is not added where no speed is known, and the reason is told", async () => {
    answer(null, "no speed of worker 1 of the run run_21 is known: it has told of no step");
    const { dialog, choose } = await opened();
    await choose(RUN);
    expect(await dialog.findByTestId("run-speeds")).toHaveTextContent("no speed of worker 1");
    expect(dialog.getByRole("button", { name: "Add cluster" })).toBeDisabled();
  });

  it("says that there is no run yet", async () => {
    const { dialog } = await opened([]);
    expect(await dialog.findByRole("option", { name: "No run yet" })).toBeInTheDocument();
  });

  it("says why the speeds of a run could not be loaded", async () => {
    server.on("GET /runs/*/workers", new Refusal(404, "no run has the id"));
    const { dialog, choose } = await opened();
    await choose(RUN);
    expect(await dialog.findByText(/no run has the id/)).toBeVisible();
  });
});
