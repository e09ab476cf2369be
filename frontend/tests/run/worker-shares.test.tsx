import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { WorkerShares } from "@/features/run/worker-shares";
import type { KindView, RunView, WorkerView } from "@/lib/client/types.gen";
import { show } from "../support/app";
import { run } from "../support/fixtures/run";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const part = () => within(screen.getByTestId("worker-shares"));

function open(changes: Partial<RunView>) {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  return show(
    <QueryClientProvider client={queries}>
      <WorkerShares run={run(changes)} index={0} />
    </QueryClientProvider>,
  );
}

function worker(changes: Partial<WorkerView>): WorkerView {
  return {
    worker: 0,
    kind: null,
    steps: 300,
    share_of_steps: 0.75,
    computing: 0.9,
    speed: 1,
    throughput: 1234.4,
    updates: 40,
    share_of_updates: 0.5,
    staleness: 1.5,
    x: [1, 2],
    sizes: [4, 8],
    times: [1, 2, 3],
    computing_over_time: [0.9, null, 0.8],
    throughput_over_time: [1200, null, 1300],
    ...changes,
  };
}

async function opened(
  workers: WorkerView[],
  kinds: KindView[] = [],
  cluster: Record<string, unknown> | null = null,
) {
  server.on("GET /runs/*/workers", { workers, kinds, virtual_cluster: cluster, no_virtual_cluster: null });
  const { user } = open({ workers: 2, servers: 1 });
  await user.click(part().getByRole("button", { name: "Show" }));
  return (await part().findAllByRole("table"))[0] as HTMLElement;
}

function kind(name: string, changes: Partial<KindView>): KindView {
  return {
    kind: name,
    workers: 1,
    share_of_steps: 0.75,
    computing: 0.9,
    throughput: 5000,
    updates: 30,
    share_of_updates: 0.6,
    staleness: 0.5,
    ...changes,
  };
}

const rowsOf = (table: HTMLElement) =>
  within(table)
    .getAllByRole("row")
    .slice(1)
    .map((row) =>
      within(row)
        .getAllByRole("cell")
        .map((cell) => cell.textContent),
    );

describe("the work by worker", () => {
  it("is asked for only when it is wanted", () => {
    open({ workers: 2 });
    expect(part().getByRole("button", { name: "Show" })).toBeVisible();
    expect(part().queryByRole("table")).toBeNull();
    expect(server.asked).toEqual([]);
  });

  it("has utilization, shares and staleness of every worker, and the batch size over time", async () => {
    const table = await opened([
      worker({}),
      worker({ worker: 1, steps: 100, share_of_steps: 0.25, computing: 0.45, speed: 0.25, staleness: 3 }),
    ]);
    const cells = rowsOf(table);
    expect(cells[0]).toEqual(["0", "90.0%", "1", "1,234", "300", "75.0%", "40", "50.0%", "1.5"]);
    expect(cells[1]?.slice(1, 6)).toEqual(["45.0%", "0.25", "1,234", "100", "25.0%"]);
    expect(part().getByTestId("chart-batch-size")).toHaveAttribute("data-points", "4");
    const links = part().getAllByRole("link", { name: /, as CSV$/ });
    expect(links.map((link) => [link.textContent, link.getAttribute("href")])).toEqual([
      ["updates", "/api/v1/runs/run_21/workers.csv?of=updates"],
      ["over time", "/api/v1/runs/run_21/workers.csv?of=time"],
      ["workers", "/api/v1/runs/run_21/workers.csv?of=workers"],
    ]);
  });

  it("draws utilization and throughput over time, with a gap where the clock stood", async () => {
    await opened([
      worker({}),
      worker({ worker: 1, times: [], computing_over_time: [], throughput_over_time: [] }),
    ]);
    for (const name of ["chart-utilization", "chart-throughput"])
      expect(part().getByTestId(name)).toHaveAttribute("data-points", "3");
  });

  it("tells kinds apart, where there are several", async () => {
    const table = await opened(
      [worker({ kind: "v100" }), worker({ worker: 1, kind: "hogwild-cpu:8" })],
      [kind("v100", {}), kind("hogwild-cpu:8", { throughput: null, staleness: 7.25 })],
    );
    expect(rowsOf(table).map((cells) => cells[1])).toEqual(["v100", "hogwild-cpu:8"]);
    const both = rowsOf(part().getAllByRole("table")[1] as HTMLElement);
    expect(both[0]).toEqual(["v100", "1", "90.0%", "5,000", "75.0%", "30", "60.0%", "0.5"]);
    expect(both[1]?.slice(-1)).toEqual(["7.25"]);
    expect(part().getByRole("link", { name: "kinds, as CSV" })).toHaveAttribute(
      "href",
      "/api/v1/runs/run_21/workers.csv?of=kinds",
    );
  });

  it("has no updates and no batch sizes without a server", async () => {
    const table = await opened([
      worker({ updates: null, share_of_updates: null, staleness: null, x: [], sizes: [] }),
    ]);
    expect(within(table).getAllByText("–")).toHaveLength(3);
    expect(part().queryByTestId("chart-batch-size")).toBeNull();
    expect(part().getByTestId("chart-utilization")).toBeVisible();
  });

  it("offers the measured speeds as a virtual cluster, to copy", async () => {
    const cluster = { name: "measured-speeds", workers: [{ kind: "cpu" }, { kind: "cpu", speed: 0.26 }] };
    await opened([worker({}), worker({ worker: 1 })], [], cluster);
    await userEvent.click(part().getByRole("button", { name: "As a virtual cluster" }));
    const shown = part().getByRole("region", { name: "Virtual cluster as JSON" });
    expect(JSON.parse(shown.textContent ?? "")).toEqual(cluster);
  });

  it("offers none where none is known", async () => {
    await opened([worker({}), worker({ worker: 1 })]);
    expect(part().queryByRole("button", { name: "As a virtual cluster" })).toBeNull();
  });

  it("says why it could not be loaded", async () => {
    server.on("GET /runs/*/workers", new Refusal(404, "no run has the id"));
    const { user } = open({ workers: 2 });
    await user.click(part().getByRole("button", { name: "Show" }));
    expect(await part().findByText(/no run has the id/)).toBeVisible();
  });

  it("is not shown of one worker", () => {
    open({ workers: 1 });
    expect(screen.queryByTestId("worker-shares")).toBeNull();
  });
});
