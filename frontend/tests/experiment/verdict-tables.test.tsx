/** What stands behind the forest plot and the bars of phases: tables, and drawings for a paper. */
import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { forestSvg } from "@/features/experiment/forest-svg";
import { forestSheet, overTimeSheet, phasesSheet } from "@/features/experiment/verdict-sheets";
import { areasSvg, phasesSvg } from "@/lib/export/phases-svg";
import { rowsSvg } from "@/lib/export/rows-svg";
import { estimate, row, speedUp, VARIANTS } from "../support/fixtures/experiment";
import { apiServer } from "../support/server";
import { answerExperiment, openExperiment } from "./page";

const BASELINE = row("Original EASGD", {
  speed_up: speedUp({ claim: "baseline", ratio: 1, low: null, high: null, p_adjusted: null }),
});
const FASTER = row("Sync EASGD", { speed_up: speedUp({ ratio: 2, low: 1, high: 4, p_adjusted: 0.012 }) });
const BOUND = row("Hogwild EASGD", {
  speed_up: speedUp({ claim: "at least", ratio: 3, low: 2, high: null, censored: 1, pairs: 4 }),
});

describe("the forest plot as a table", () => {
  it("has ratio, interval, claim and seeds of every variant", () => {
    const { head, rows } = forestSheet({ rows: [BASELINE, FASTER, BOUND] });
    expect(rows).toEqual([
      ["Original EASGD", "1×", "–", "–", "baseline", "–", "–", "–"],
      ["Sync EASGD", "2.00×", "1.00×", "4.00×", "faster", "0.012", "3", "0"],
      ["Hogwild EASGD", "3.00×", "2.00×", "–", "faster, bound", "0.01", "4", "1"],
    ]);
    expect(new Set(head).size).toBe(rows[0]?.length);
  });

  it("has no interval where nothing is claimed, as the plot draws none", () => {
    const silent = speedUp({ claim: "no claim", ratio: null, low: 0.1, high: 9, p_adjusted: null, pairs: 1 });
    const { rows } = forestSheet({ rows: [row("Sync EASGD", { speed_up: silent })] });
    expect(rows[0]).toEqual(["Sync EASGD", "–", "–", "–", "no claim", "–", "1", "0"]);
  });
});

it("a ratio of seeds that never reached the target is in neither the table nor the drawing", () => {
  const failed = { claim: "no claim", ratio: 0.2, low: null, high: null, p_adjusted: null } as const;
  const rows = [BASELINE, row("Sync EASGD", { speed_up: speedUp({ ...failed, pairs: 2, censored: 2 }) })];
  expect(forestSheet({ rows }).rows[1]).toEqual(["Sync EASGD", "–", "–", "–", "no claim", "–", "2", "2"]);
  expect(forestSvg({ rows }, { variants: VARIANTS }, "Speed-up").svg).not.toContain('width="8" height="8"');
});

describe("the forest plot for a paper", () => {
  const { svg } = forestSvg({ rows: [BASELINE, FASTER, BOUND] }, { variants: VARIANTS }, "Speed-up: <local>");
  const all = (pattern: RegExp) => [...svg.matchAll(pattern)].map(([, ...found]) => found.map(Number));

  it("has ratios and intervals at their places on one logarithmic axis", () => {
    const [[one] = []] = all(/<circle cx="([\d.]+)"/g) as [number[]]; // the baseline stands at 1
    const [two, three] = all(/<rect x="([\d.]+)" y="[\d.]+" width="8"/g).map(([x]) => (x ?? 0) + 4);
    const unit = (two ?? 0) - (one ?? 0); // px of a factor of 2
    expect(((three ?? 0) - (one ?? 0)) / unit).toBeCloseTo(Math.log2(3), 6);
    const [interval, bound] = all(/x1="([\d.]+)" x2="([\d.]+)" [^>]*stroke-width="2"/g);
    expect(interval?.map((x) => (x - (one ?? 0)) / unit)).toEqual([
      expect.closeTo(0, 6),
      expect.closeTo(2, 6),
    ]);
    expect(((bound?.[0] ?? 0) - (one ?? 0)) / unit).toBeCloseTo(1, 6);
    expect(svg.match(/<path d="M[^"]* l6 4 l-6 4"/g)).toHaveLength(1); // the bound goes on
  });

  it("says the same in words, and keeps names from being markup", () => {
    expect(svg).toContain(">At least 2.0× faster (4 seeds, 1 without the target)<");
    expect(svg).toContain(">Speed-up: &lt;local&gt;<");
    expect(new DOMParser().parseFromString(svg, "image/svg+xml").querySelector("parsererror")).toBeNull();
  });
});

describe("phases as a table", () => {
  it("are shares of the whole, with communication and what was hidden", () => {
    const none = row("Sync EASGD", {
      phases: {},
      communication_fraction: estimate(null),
      hidden: estimate(null),
    });
    const { rows } = phasesSheet({ rows: [row("Original EASGD", { hidden: estimate(1.5) }), none] });
    expect(rows).toEqual([
      ["Original EASGD", "10.0%", "50.0%", "20.0%", "10.0%", "5.0%", "5.0%", "25.0%", "1.5 s"],
      ["Sync EASGD", ...Array(8).fill("–")],
    ]);
  });

  it("over time have a row for each part in which something was recorded", () => {
    const shares = [
      [0, 0, 0],
      [0.75, 0, 1],
      [0, 0, 0],
      [0.25, 0, 0],
      ...Array.from({ length: 3 }, () => [0, 0, 0]),
    ];
    const place = { cluster: "local", workers: 2, simulated: false, runs: ["run_1"] };
    const { head, rows } = overTimeSheet([
      { ...place, variant: "Sync EASGD", span: 30, end: 30, shares, hidden: [0.1, 0, 0] },
    ]);
    expect(rows).toEqual([
      ["Sync EASGD", "0 s", "10 s", "0.0%", "75.0%", "25.0%", "0.0%", "0.0%", "0.0%", "10.0%"],
      ["Sync EASGD", "20 s", "30 s", "0.0%", "100.0%", "0.0%", "0.0%", "0.0%", "0.0%", "0.0%"],
    ]);
    expect(head).toHaveLength(10);
    const building = shares.map((of, at) => (at === 2 ? [0.5, 0, 0] : at === 1 ? [0.25, 0, 1] : of));
    const built = overTimeSheet([
      { ...place, variant: "SLIDE", span: 30, end: 30, shares: building, hidden: [0, 0, 0] },
    ]);
    expect(built.head.slice(3, 7)).toEqual(["data", "compute", "rebuild", "communicate"]);
    expect(built.rows[0]?.slice(3, 7)).toEqual(["0.0%", "25.0%", "50.0%", "25.0%"]);
  });
});

describe("phases for a paper", () => {
  it("are bars whose parts are as wide as their shares", () => {
    const shares = { data: 1, compute: 5, communicate: 2, update: 1, evaluate: 0.5, idle: 0.5 };
    const { svg } = phasesSvg([{ name: "A & B", words: "25% communication", shares }], "Phases");
    const widths = [...svg.matchAll(/width="([\d.]+)" height="18"/g)].map(([, width]) => Number(width));
    const whole = widths.reduce((sum, width) => sum + width, 0);
    expect(widths.map((width) => width / whole)).toEqual(
      [0.1, 0.5, 0.2, 0.1, 0.05, 0.05].map((share) => expect.closeTo(share, 9)),
    );
    expect(svg).toContain(">A &amp; B<");
  });

  it("over time have hidden communication over compute", () => {
    const shares = [[0], [0.6], [0], [0.4], [0], [0], [0]];
    const { svg } = areasSvg([{ name: "A", words: "", shares, hidden: [0.2] }], "Phases");
    expect(svg).toMatch(/<path d="M0 0.6V0.4H1V0.6H0Z" fill="[^"]*" fill-opacity="0.5"\/>/);
    expect(svg).toContain(">communicate, hidden<");
  });
});

it("a drawing of lines holds its title, names and words", () => {
  const line = { name: "n".repeat(30), words: "w".repeat(40), parts: () => [] };
  const { width, height } = rowsSvg("t", { width: 100, height: 26 }, [line, line], () => []);
  expect(width).toBeGreaterThan((30 + 40) * 6 + 100);
  const { width: titled, height: empty } = rowsSvg("t".repeat(80), { width: 100, height: 26 }, [], () => []);
  expect(titled).toBeGreaterThan(80 * 7);
  expect(height - empty).toBe(52);
});

describe("on the page of an experiment", () => {
  const server = apiServer();
  it.each([
    ["Speed-up over Original EASGD: local · 2 workers", 3, "Sync EASGD2.00×1.60×2.50×faster0.0130"],
    ["Where the time went", 3, "Sync EASGD10.0%50.0%20.0%10.0%5.0%5.0%25.0%0 s"],
  ])("%s can be shown as a table, which can be taken away", async (of, count, line) => {
    answerExperiment(server);
    const { user } = await openExperiment(server);
    await user.click(screen.getByRole("button", { name: `Export: ${of}` }));
    await user.click(await screen.findByRole("menuitem", { name: "Show as a table" }));
    const window = within(await screen.findByRole("dialog", { name: of }));
    const rows = within(await window.findByTestId("sheet-table")).getAllByRole("row");
    expect(rows).toHaveLength(count + 1);
    expect(rows[2]).toHaveTextContent(line);
    expect(window.getByRole("button", { name: `Export: ${of}, as a table` })).toBeVisible();
  });
});
