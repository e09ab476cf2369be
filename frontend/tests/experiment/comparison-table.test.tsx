import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { ComparisonTable } from "@/features/experiment/comparison-table";
import { groupsOf } from "@/features/experiment/groups";
import type { ComparisonRow } from "@/lib/client/types.gen";
import { show } from "../support/app";
import { comparison, estimate, experiment, row, speedUp } from "../support/fixtures/experiment";

function table(rows: ComparisonRow[], without = false) {
  const [group] = groupsOf(comparison({ rows }));
  show(<ComparisonTable experiment={experiment()} group={group} without={without} />);
}

const headers = () => screen.getAllByRole("columnheader").map((header) => header.textContent?.trim());
const lines = () => screen.getAllByTestId("comparison-row");

/** The cell below a header that begins so. */
function cell(header: string, line = 0): HTMLElement {
  const at = headers().findIndex((text) => text?.startsWith(header));
  return within(lines()[line] as HTMLElement).getAllByRole("cell")[at] as HTMLElement;
}

/** A figure and what stands below it. */
function figure(header: string, line = 0): string[] {
  const element = cell(header, line);
  const below = element.querySelector("span:last-child")?.textContent ?? "";
  return [(element.textContent ?? "").slice(0, -below.length || undefined), below.trim()];
}

describe("a row", () => {
  it.each([
    ["Time to target", ["2.4 s", "3 of 3 reached"]],
    ["Speed-up", ["2.00×", "1.60× to 2.50×"]],
    ["Claim", ["faster", "3 seeds"]],
    ["Accuracy,", ["97.0%", "best 97.3%"]],
    ["Test accuracy", ["96.8%", "96.2% to 97.4%"]],
    ["Communication", ["25.0%", "20.0% to 30.0%"]],
    ["Sent per run", ["281 MB", "280 MB to 282 MB"]],
    ["Samples", ["48,000", "46,000 to 50,000"]],
    ["Runs", ["3 / 3", ""]],
  ])("shows %s with its uncertainty", (header, expected) => {
    table([row("Sync EASGD")]);
    expect(figure(header)).toEqual(expected);
  });

  it.each<[string, Partial<ComparisonRow>, string, string[]]>([
    [
      "how many seeds never got there",
      { time_to_target: { mean: null, median: null, low: 4, high: 4, n: 3, reached: 1, unit: "s" } },
      "Time to target",
      ["–", "1 of 3 reached"],
    ],
    [
      "that none got there",
      { time_to_target: { mean: null, median: null, low: null, high: null, n: 3, reached: 0, unit: "s" } },
      "Time to target",
      ["not reached", "by any of 3 seeds"],
    ],
    ["that there is no target", { time_to_target: null }, "Time to target", ["–", ""]],
    [
      "the median, and that it is one, where one seed missed it",
      { time_to_target: { mean: null, median: 4, low: 3, high: 4, n: 3, reached: 2, unit: "s" } },
      "Time to target",
      ["4 s", "median, 2 of 3 reached"],
    ],
    [
      "one seed without an interval",
      { accuracy: estimate(0.9, 0, 1), time_to_target: null },
      "Accuracy,",
      ["90.0%", ""],
    ],
    [
      "no accuracy above the whole",
      { accuracy: estimate(0.99, 0.05), time_to_target: null },
      "Accuracy,",
      ["99.0%", "94.0% to 100.0%"],
    ],
    ["nothing sent below zero", { wire: estimate(100, 150) }, "Sent per run", ["100 B", "0 B to 250 B"]],
    ["runs that failed", { finished: 2, failed: 1 }, "Runs", ["2 / 3", "1 failed"]],
    [
      "a bound",
      { speed_up: speedUp({ claim: "at least", ratio: 3, low: 2, high: null }) },
      "Speed-up",
      ["3.00×", "from 2.00×"],
    ],
    [
      "a bound from above",
      { speed_up: speedUp({ claim: "at most", ratio: 0.5, low: null, high: 0.8 }) },
      "Speed-up",
      ["0.50×", "up to 0.80×"],
    ],
    [
      "no interval behind no claim",
      { speed_up: speedUp({ claim: "no claim", low: 1, high: 3 }) },
      "Speed-up",
      ["2.00×", "no claim"],
    ],
    [
      "no ratio where nothing is claimed and a seed missed the target",
      { speed_up: speedUp({ claim: "no claim", ratio: 0.3, low: null, high: null, pairs: 2, censored: 2 }) },
      "Speed-up",
      ["–", "no claim"],
    ],
    [
      "a bound alone where no seed reached the target",
      { speed_up: speedUp({ claim: "at most", ratio: 0.5, low: null, high: 0.8, censored: 3 }) },
      "Speed-up",
      ["–", "up to 0.80×"],
    ],
    ["the baseline", { speed_up: speedUp({ claim: "baseline" }) }, "Speed-up", ["1×", "baseline"]],
  ])("shows %s", (_, changes, header, expected) => {
    table([row("Sync EASGD", changes)]);
    expect(figure(header)).toEqual(expected);
  });

  it("has a dash where no test part was scored", () => {
    table([row("Sync EASGD", { test_accuracy: estimate(null, 0, 0) })]);
    expect(cell("Test accuracy")).toHaveTextContent("–");
  });

  it("has the line of its variant, the same as in the charts", () => {
    table([row("Hogwild EASGD"), row("Original EASGD")]);
    expect(lines().map((line) => line.dataset.variant)).toEqual(["Hogwild EASGD", "Original EASGD"]);
    const strokes = lines().map((line) => line.querySelector("td svg line")?.getAttribute("stroke"));
    expect(strokes).toEqual(["light-dark(#0f9b80, #35d0ac)", "light-dark(#1f66d0, #4d96ff)"]);
  });
});

describe("the table", () => {
  it("has a column of staleness only where something was stale", () => {
    table([row("Original EASGD"), row("Hogwild EASGD", { staleness: estimate(1.5, 0.25) })]);
    expect(figure("Staleness", 1)).toEqual(["1.5", "1.25 to 1.75"]);
    expect(cell("Staleness", 0)).toHaveTextContent("–");
  });

  it("has none where nothing was", () => {
    table([row("Original EASGD")]);
    expect(headers()).not.toContain("Staleness");
    expect(within(lines()[0] as HTMLElement).getAllByRole("cell")).toHaveLength(headers().length);
  });

  it("calls virtual seconds virtual, and real ones not", () => {
    table([row("Sync EASGD", { simulated: true })]);
    expect(headers().filter((text) => text?.includes("virtual"))).toEqual([
      "Time to targetmean, virtual s",
      "Samplesper virtual s",
    ]);
  });

  it("says of which part the accuracy is where there was no validation part", () => {
    table([row("Sync EASGD")], true);
    expect(headers()).toContain("Test part,at the target");
  });

  it("says for how many comparisons its claims were corrected", () => {
    table([row("Sync EASGD", { speed_up: speedUp({ comparisons: 4 }) })]);
    expect(screen.getByRole("table")).toHaveAccessibleName(/after correction for 4 comparisons \(Holm\)\.$/);
  });
});
