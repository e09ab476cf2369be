/** The page of an experiment, over a server that answers all it asks for. */
import { screen, waitFor } from "@testing-library/react";
import { expect } from "vitest";
import type { BandAnswer } from "@/lib/client/types.gen";
import { type Begun, frame, openApp } from "../support/app";
import { band, comparison, experiment } from "../support/fixtures/experiment";
import { runSummary } from "../support/fixtures/run";
import type { ApiServer } from "../support/server";

const VIRTUAL = { cluster: "10gbe", workers: 8, simulated: true };
export const bands = (changes: Partial<BandAnswer> = {}): BandAnswer => ({
  axis: "clock",
  unit: "s",
  position: 0,
  version: "",
  since: null,
  bands: [
    band("Original EASGD", { mean: [0.4, 0.6, 0.9] }),
    band("Sync EASGD"),
    band("Sync EASGD", { ...VIRTUAL, mean: [0.3, 0.4, 0.5] }),
    band("Sync EASGD", {
      metric: "validation_loss",
      mean: [2, 1, 0.2],
      low: [1, 0.5, 0.1],
      high: [3, 1.5, 0.3],
    }),
  ],
  ...changes,
});

export function answerExperiment(server: ApiServer): void {
  server
    .on("GET /experiments/*", experiment())
    .on("GET /experiments/*/comparison", comparison())
    .on("GET /experiments/*/bands", ({ query }) => bands({ axis: (query.get("axis") ?? "clock") as "clock" }))
    .on("POST /series", ({ body }) => ({ axis: (body as { axis: "clock" }).axis, unit: "s", series: [] }))
    .on("GET /runs", { items: [runSummary(21)], next_cursor: null });
}

export const chart = () => screen.getByTestId("chart-validation_accuracy");

export async function openExperiment(server: ApiServer, address = "/experiments/exp_7", begun?: Begun) {
  const app = openApp(server, address, begun);
  await screen.findAllByTestId("comparison-row");
  await screen.findByTestId("runs-table");
  await waitFor(() => expect(chart()).not.toHaveAttribute("data-points", "0"));
  await frame();
  return app;
}
