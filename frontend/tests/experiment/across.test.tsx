import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { AcrossPart } from "@/features/experiment/across-part";
import type { Across, AcrossRow, PooledRatio } from "@/lib/client/types.gen";
import { latexOf, sheetOf } from "@/lib/export/sheet";
import { show } from "../support/app";
import { experiment, speedUp } from "../support/fixtures/experiment";

const pooled = (changes: Partial<PooledRatio> = {}): PooledRatio => ({
  ratio: 1.5,
  low: 1.2,
  high: 1.9,
  seeds: 5,
  i2: 0.4,
  predicted_low: null,
  predicted_high: null,
  p_adjusted: 0.01,
  claim: "faster",
  ...changes,
});

const at = (cluster: string, changes: Parameters<typeof speedUp>[0] = {}, simulated = false) => ({
  cluster,
  simulated,
  speed_up: speedUp(changes),
});

const row = (variant: string, changes: Partial<AcrossRow> = {}): AcrossRow => ({
  variant,
  clusters: [at("lab"), at("hpc_1")],
  pooled: pooled(),
  ...changes,
});

const across = (changes: Partial<Across> = {}): Across => ({
  workers: 8,
  clusters: ["lab", "hpc_1"],
  pool: ["lab", "hpc_1"],
  spreads: null,
  rows: [
    row("Original EASGD", {
      clusters: [at("lab", { claim: "baseline", ratio: 1 }), at("hpc_1", { claim: "baseline", ratio: 1 })],
      pooled: null,
    }),
    row("Sync EASGD", { clusters: [at("lab", { claim: "faster", ratio: 2, low: 1.5, high: 2.5 })] }),
  ],
  sentences: ["The order changes with the cluster."],
  ...changes,
});

describe("the comparison across clusters", () => {
  it("has a ratio per cluster and a mean, and says where a variant did not run", () => {
    show(<AcrossPart experiment={experiment()} across={[across()]} />);
    const part = within(screen.getByTestId("across"));
    expect(part.getByRole("heading")).toHaveTextContent("Across clusters, 8 workers");
    expect(part.getByTestId("across-sentences")).toHaveTextContent("The order changes with the cluster.");
    expect(part.getByRole("list", { name: "Mean over lab, hpc_1" })).toHaveTextContent(
      "Sync EASGD1.5× faster (1.2 to 1.9, 5 seeds)",
    );
    const rows = part.getAllByTestId("across-row");
    expect(rows[0]).toHaveTextContent("1×baseline");
    expect(rows[1]).toHaveTextContent(/2\.00×1\.50× to 2\.50×.*did not run here.*1\.50×1\.20× to 1\.90×/);
    expect(part.getByText("mean of 2")).toBeVisible();
    expect(part.queryByText("simulated")).toBeNull();
  });

  it("orders clusters that differ only in speeds by how far these are apart, and says so", () => {
    show(<AcrossPart experiment={experiment()} across={[across({ spreads: [4, 1] })]} />);
    const heads = screen.getAllByRole("columnheader").map((head) => head.textContent);
    expect(heads.slice(1, 3)).toEqual(["hpc_1  speeds 1 : 1", "lab  speeds 1 : 4"]);
    const cells = within(screen.getAllByTestId("across-row")[1] as HTMLElement).getAllByRole("cell");
    expect(cells[1]).toHaveTextContent("did not run here");
  });

  it("labels simulated clusters, and has no mean where nothing is pooled", () => {
    const rows = [row("Sync EASGD", { clusters: [at("lab"), at("hpc_1", {}, true)], pooled: null })];
    show(<AcrossPart experiment={experiment()} across={[across({ rows, pool: [] })]} />);
    expect(screen.getByText("simulated")).toBeVisible();
    expect(screen.queryByText(/mean of/)).toBeNull();
  });

  it("says first whether the order changes, then a line for each mean, and the rest in full below", () => {
    const sentences = ["Mean over 2 clusters: Sync EASGD 1.5x.", "The order changes with the cluster: a, b."];
    show(<AcrossPart experiment={experiment()} across={[across({ sentences })]} />);
    const part = within(screen.getByTestId("across-sentences"));
    expect(part.getAllByRole("listitem")).toHaveLength(1); // the baseline has no mean
    expect(part.getByText("Mean over 2 clusters: Sync EASGD 1.5x.").closest("details")).not.toHaveAttribute(
      "open",
    );
    expect(part.getByText("The order changes with the cluster: a, b.").closest("details")).toBeNull();
  });

  it("says in place of means why there are none", () => {
    const rows = [row("Sync EASGD", { pooled: null })];
    const sentences = ["Nothing is pooled: a mean needs two measured clusters."];
    show(<AcrossPart experiment={experiment()} across={[across({ rows, pool: [], sentences })]} />);
    const part = within(screen.getByTestId("across-sentences"));
    expect(part.getByText(/Nothing is pooled/).closest("details")).toBeNull();
    expect(part.queryByRole("list")).toBeNull();
  });

  it("is a table for a paper", () => {
    const rows = [
      ...across().rows,
      row("a_b", { clusters: [at("lab", {}, true), at("hpc_1")], pooled: null }),
    ];
    show(<AcrossPart experiment={experiment()} across={[across({ rows })]} />);
    const lines = latexOf(sheetOf(screen.getByRole("table"))).split("\n");
    expect(lines[0]).toBe("\\begin{tabular}{lrrr}");
    expect(lines[2]).toBe("Variant & lab (simulated) & hpc\\_1 & mean of 2 \\\\");
    const [alone, mean] = ["2.00× (1.50× to 2.50×)", "1.50× (1.20× to 1.90×)"].map((text) =>
      text.replaceAll("×", "$\\times$"),
    );
    expect(lines[5]).toBe(`Sync EASGD & ${alone} & did not run here & ${mean} \\\\`);
    expect(lines[6]).toMatch(/^a\\_b & /);
  });
});
