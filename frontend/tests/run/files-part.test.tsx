import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { FilesPart } from "@/features/run/files-part";
import type { RunView } from "@/lib/client/types.gen";
import { show } from "../support/app";
import { checkpoint, run } from "../support/fixtures/run";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const part = () => within(screen.getByRole("region", { name: "Files" }));
const shown = (changes: Partial<RunView> = {}) =>
  show(
    <QueryClientProvider client={new QueryClient()}>
      <FilesPart run={run(changes)} />
    </QueryClientProvider>,
  );
const saved: string[] = [];

beforeEach(() => {
  saved.length = 0;
  Object.assign(URL, { createObjectURL: () => "blob:x", revokeObjectURL: () => undefined });
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
    saved.push(`${this.download} ${this.getAttribute("href")}`);
  });
});

describe("files of a run", () => {
  it("are points and log of the server, and the specification of the page", async () => {
    const { user } = shown();
    const links = part()
      .getAllByRole("link")
      .map((link) => link.getAttribute("href"));
    expect(links).toEqual(["/api/v1/experiments/exp_7/points.csv?run=run_21", "/api/v1/runs/run_21/log.txt"]);
    await user.click(part().getByRole("button", { name: "Specification, JSON" }));
    expect(saved).toEqual(["run-21.json blob:x"]);
  });

  it.each([
    [{ spec: { trace: true }, state: "succeeded" }, true],
    [{ spec: { trace: true }, state: "running" }, false],
    [{ spec: { trace: true }, state: "succeeded", host: "~lab" }, false],
    [{ spec: {}, state: "succeeded" }, false],
  ] as const)("of %o have a trace: %s", (changes, has) => {
    shown(changes);
    expect(part().queryByRole("link", { name: "Trace, for ui.perfetto.dev" }) !== null).toBe(has);
  });

  it("as Parquet are fetched once the server has agreed; otherwise it says why not", async () => {
    server.on("GET /experiments/*/points.parquet", new Refusal(409, "pyarrow is not installed"));
    const { user } = shown();
    await user.click(part().getByRole("button", { name: "Points, Parquet" }));
    expect(await part().findByRole("alert")).toHaveTextContent("pyarrow is not installed");
    server.on("GET /experiments/*/points.parquet", "PAR1");
    await user.click(part().getByRole("button", { name: "Points, Parquet" }));
    await waitFor(() => expect(saved).toEqual([" /api/v1/experiments/exp_7/points.parquet?run=run_21"]));
  });
});

describe("checkpoints", () => {
  it("are on the cluster: the newest two, with their folder", () => {
    shown({ host: "lab", checkpoints: [1000, 2000, 3000].map((samples) => checkpoint(samples)) });
    expect(part().getByText(/^Checkpoints stay on lab/)).toBeVisible();
    const places = part().getAllByRole("listitem");
    expect(places.map((item) => item.firstElementChild?.textContent)).toEqual([
      "ckpt-2000, 2,000 samples, 407 kB of 2 ranks",
      "ckpt-3000, 3,000 samples, 407 kB of 2 ranks",
    ]);
  });

  it.each([
    ["lab", "No checkpoint was reported. Checkpoints stay on lab."],
    ["~lab", "This run was imported; its checkpoints stayed on the cluster where it ran."],
  ])("of a run on %s that has none", (host, told) => {
    shown({ host });
    expect(part().getByText(told)).toBeVisible();
  });
});
