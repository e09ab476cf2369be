import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import type { Calibration, CalibrationView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { asksAgain } from "../support/asks-again";
import { CATALOGUE, workload } from "../support/fixtures/catalogue";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const error = { error: 1e-6, samples: 50 };
const line = { alpha: 2e-6, alpha_error: 1e-7, beta: 5e-10, beta_error: 1e-11, misfit: 0.04 };

const CALIBRATION: Calibration = {
  schema: "hooke.calibration/1",
  at: "2026-11-24T12:00:00Z",
  took: 40,
  workers: 2,
  hosts: 1,
  cores: 2,
  load: 0,
  hardware: { cpu: "Test processor" },
  versions: { mpi: "MPICH 5" },
  start: { seconds: 2, ...error },
  curves: [
    {
      kind: "message",
      collective: null,
      line,
      points: [8, 1000].map((bytes) => ({ bytes, ranks: 2, pair: [0, 1], seconds: 1e-5, ...error })),
    },
    {
      kind: "all-reduce",
      collective: "library",
      line: null,
      points: [4096, 1e6].map((bytes) => ({ bytes, ranks: 2, pair: null, seconds: 1e-4, ...error })),
    },
  ],
  compute: [
    {
      workload: "digits-mlp",
      parameters: {},
      precision: "fp32",
      elements: 50_826,
      points: [{ batch: 32, seconds: 6e-4, ...error }],
      line,
      alone: { seconds: 4e-4, ...error },
      loop: { seconds: 7e-4, ...error },
      loop_batch: 32,
      accesses: 3,
      jitter: { independent: 0.06, slow: 0.02, common: 0.01, between_ranks: 0, steps: 16 },
    },
  ],
};

const view = (changes: Partial<CalibrationView> = {}): CalibrationView => ({
  id: "cal_1",
  cluster: "lab",
  state: "succeeded",
  workers: 2,
  workloads: ["digits-mlp"],
  created_at: "2026-11-24T12:00:00Z",
  ended_at: "2026-11-24T12:01:00Z",
  why: "",
  calibration: CALIBRATION,
  drift: [],
  ...changes,
});

async function open(items: CalibrationView[]) {
  server.on("GET /algorithms", CATALOGUE);
  server.on("GET /clusters/*/calibrations", { items });
  return openApp(server, "/clusters/lab/calibration");
}

describe("the calibration of a cluster", () => {
  it("shows lines, curves and gradients with units and errors", async () => {
    await open([view()]);
    const lines = within(await screen.findByTestId("lines"));
    expect(lines.getByRole("row", { name: /^message/ })).toHaveTextContent(
      "message2 µs ± 0.1 µs0.5 ± 0.01 ns2 GB/s4%",
    );
    expect(lines.queryByRole("row", { name: /library/ })).toBeNull();
    expect(screen.getByTestId("message-curves")).toHaveAttribute("data-points", "43");
    expect(screen.getByTestId("sum-curves")).toHaveAttribute("data-points", "2");
    expect(screen.getByTestId("gradients")).toHaveTextContent("All ranks at once over alone1.5×");
    expect(screen.getByTestId("measured")).toHaveTextContent("Test processor");
    expect(screen.getByText("Times are medians ± one standard error.")).toBeVisible();
    expect(screen.queryByText(/Other processes/)).toBeNull();
    expect(document.title).toBe("Calibration of lab · Hooke");
  });

  it("knows that there is no such cluster", async () => {
    server.on("GET /clusters/*/calibrations", new Refusal(404, "cluster lab not found"));
    openApp(server, "/clusters/lab/calibration");
    expect(await screen.findByRole("heading", { name: "Cluster not found" })).toBeVisible();
    expect(screen.queryByTestId("calibrate")).toBeNull();
    expect(document.title).toBe("Cluster not found · Hooke");
    await asksAgain(server, "GET /clusters/*/calibrations", "clusters", { name: "lab" });
    expect(screen.getByRole("heading", { name: "Cluster not found" })).toBeVisible();
  });

  it("starts one, and says that the cluster is occupied", async () => {
    await open([]);
    expect(await screen.findByTestId("calibration-none")).toBeVisible();
    const running = view({ state: "running", calibration: null, ended_at: null });
    server.on("POST /clusters/*/calibrations", running);
    server.on("GET /clusters/*/calibrations", { items: [running] });
    await userEvent.click(screen.getByTestId("calibrate"));
    expect(await screen.findByTestId("calibration-state")).toHaveTextContent("starts no runs meanwhile");
    expect(screen.getByTestId("calibrate")).toBeDisabled();
  });

  it("measures what was chosen, and says it before", async () => {
    await open([]);
    const asked = await screen.findByTestId("calibration-asked");
    expect(asked).toHaveTextContent("One rank per slot, at most 8; gradients of digits-mlp in fp32.");
    server.on("GET /workloads", { items: ["mnist-lenet", "digits-mlp"].map((name) => workload(name)) });
    await userEvent.click(screen.getByRole("button", { name: "Change" }));
    await userEvent.click(await screen.findByRole("combobox", { name: "Workloads" }));
    await userEvent.click(await screen.findByRole("option", { name: "mnist-lenet" }));
    await userEvent.click(screen.getByRole("checkbox", { name: "bf16" }));
    await userEvent.click(screen.getByRole("checkbox", { name: "fp32" }));
    await userEvent.click(screen.getByRole("checkbox", { name: "bf16" }));
    await userEvent.type(screen.getByRole("textbox", { name: "Ranks" }), "4");
    expect(asked).toHaveTextContent("4 ranks; gradients of digits-mlp, mnist-lenet in bf16.");
    server.on("POST /clusters/*/calibrations", view({ state: "queued", calibration: null }));
    await userEvent.click(screen.getByTestId("calibrate"));
    await waitFor(() =>
      expect(server.askedFor("POST /clusters/*/calibrations").map(({ body }) => body)).toEqual([
        { workloads: ["digits-mlp", "mnist-lenet"], precisions: ["bf16"], workers: 4 },
      ]),
    );
  });

  it("shows a scheduler's words while it waits, and cancels", async () => {
    const running = view({ state: "running", calibration: null, ended_at: null });
    await open([{ ...running, why: "job 7 waits in Slurm's queue: PENDING (Resources)" }]);
    expect(await screen.findByTestId("calibration-state")).toHaveTextContent(
      "Now: job 7 waits in Slurm's queue",
    );
    const ending = { ...running, state: "cancelling" as const };
    server.on("POST /clusters/*/calibrations/*/cancel", ending);
    server.on("GET /clusters/*/calibrations", { items: [ending] });
    await userEvent.click(screen.getByTestId("calibration-cancel"));
    await waitFor(() => expect(screen.getByTestId("calibration-state")).toHaveTextContent("Cancelling."));
    expect(screen.queryByTestId("calibration-cancel")).toBeNull();
    expect(screen.getByTestId("calibrate")).toBeDisabled();
  });

  it("cancels one that is queued, and says why a cancel was refused", async () => {
    const queued = view({ state: "queued", calibration: null, ended_at: null });
    await open([queued]);
    const state = await screen.findByTestId("calibration-state");
    expect(state).toHaveTextContent("Queued.");
    expect(state).not.toHaveTextContent("Now:");
    server.on("POST /clusters/*/calibrations/*/cancel", new Refusal(409, "it has ended already: succeeded"));
    await userEvent.click(screen.getByTestId("calibration-cancel"));
    await waitFor(() => expect(screen.getByTestId("error")).toHaveTextContent("it has ended already"));
    const cancelled = view({ state: "cancelled", calibration: null, why: "cancelled before it started" });
    server.on("POST /clusters/*/calibrations/*/cancel", cancelled);
    server.on("GET /clusters/*/calibrations", { items: [cancelled, view({ id: "cal_0" })] });
    await userEvent.click(screen.getByTestId("calibration-cancel"));
    await waitFor(() => expect(screen.queryByTestId("calibration-state")).toBeNull());
    const rows = within(screen.getByTestId("calibrations")).getAllByRole("row");
    expect(rows[1]).toHaveTextContent("cancelled before it started");
    expect(screen.queryByTestId("calibration-failure")).toBeNull();
    expect(screen.getByTestId("calibrate")).toBeEnabled();
  });

  it("says why it was refused, and why one failed", async () => {
    await open([view({ state: "failed", calibration: null, why: "no mpirun" })]);
    expect(await screen.findByTestId("calibration-failure")).toHaveTextContent("no mpirun");
    server.on("POST /clusters/*/calibrations", new Refusal(409, "wait for its end"));
    await userEvent.click(screen.getByTestId("calibrate"));
    await waitFor(() => expect(screen.getByTestId("error")).toHaveTextContent("wait for its end"));
  });

  it("tells drift and other load, and lists earlier ones", async () => {
    const drift = ["message of 8 bytes takes 1.50 times as long as before"];
    const busy = { ...CALIBRATION, load: 3.2, oversubscribed: true };
    await open([view({ id: "cal_2", drift, calibration: busy }), view()]);
    expect(await screen.findByTestId("drift")).toHaveTextContent("1.50 times as long");
    expect(screen.getByTestId("measured")).toHaveTextContent("Other processes were running (load 3.2)");
    expect(screen.getByTestId("measured")).toHaveTextContent("More ranks than cores");
    expect(within(screen.getByTestId("calibrations")).getAllByRole("row")).toHaveLength(3);
  });
});
