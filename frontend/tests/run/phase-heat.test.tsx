import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { HeatMap } from "@/features/run/heat-map";
import { heatRows, median } from "@/features/run/phase-heat";
import { energyWords, systemWords } from "@/features/run/system-part";
import { hostSeries, MOST_CURVES, processSeries } from "@/features/run/system-series";
import type { ProcessSamples } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";
import { show } from "../support/app";
import { phases, run } from "../support/fixtures/run";
import { system } from "../support/fixtures/timeline";

describe("the heat map", () => {
  it("has the share of each phase in the rank's own time", () => {
    const [row] = heatRows([phases(0)]); // 1, 5, 2, 1, 2, 1 of 12 s
    expect(row?.cells.map((cell) => cell.share)).toEqual(
      [1, 5, 2, 1, 2, 1].map((each) => expect.closeTo(each / 12, 12)),
    );
    expect(
      heatRows([
        phases(0, { data: 0, compute: 0, communicate: 0, update: 0, evaluate: 0, idle: 0 }),
      ])[0]?.cells.map((cell) => cell.share),
    ).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it("has the phase in which tables are built where a rank has spent time in it", () => {
    const [first, second] = heatRows([phases(0), phases(1, { rebuild: 12 })]);
    expect(first?.cells[2]).toEqual({ phase: "rebuild", share: 0, apart: false });
    expect(second?.cells[2]?.share).toBe(0.5);
  });

  it("marks what differs from the others of its role, and not a server from workers", () => {
    const ranks = [
      phases(0),
      phases(1),
      phases(2, { compute: 9, communicate: 0 }),
      phases(3, { role: "server", compute: 0 }),
    ];
    const marked = heatRows(ranks).map((row) =>
      row.cells.filter((cell) => cell.apart).map((cell) => cell.phase),
    );
    expect(marked).toEqual([[], [], ["compute", "communicate"], []]);
  });

  it.each([
    [[3, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
    [[7], 7],
    [[], 0],
  ])("the median of %j is %d", (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  it("is a table that says what it is of", () => {
    show(
      <HeatMap run={run({ phases: [phases(0), phases(1), phases(2, { compute: 20 })], simulated: true })} />,
    );
    const part = within(screen.getByTestId("heat-map"));
    expect(part.getAllByRole("row")).toHaveLength(4);
    expect(part.getAllByRole("columnheader").map((cell) => cell.textContent)).toEqual([
      "rank",
      "data",
      "compute",
      "communicate",
      "update",
      "evaluate",
      "idle",
    ]);
    expect(part.getByText(/Of the virtual time of each rank.*Bold/)).toBeVisible();
  });

  it("has one menu, for its figures and for its picture", async () => {
    const { user } = show(<HeatMap run={run({ phases: [phases(0), phases(1)] })} />);
    const part = within(screen.getByTestId("heat-map"));
    await user.click(part.getByRole("button", { name: /^Export/ })); // fails if there are several
    const items = await screen.findAllByRole("menuitem");
    expect(items.map((item) => item.textContent)).toEqual([
      "Save as PNG",
      "Save as SVG",
      "Save as CSV",
      "Copy as Markdown",
      "Copy as LaTeX",
    ]);
  });

  it("is left out of a single rank", () => {
    show(<HeatMap run={run({ phases: [phases(0)] })} />);
    expect(screen.queryByTestId("heat-map")).toBeNull();
  });
});

describe("curves of the system", () => {
  it("are one for each rank, or one for the process of a virtual run", () => {
    expect(processSeries(system(), "cpu", 0).map((one) => [one.label, one.y])).toEqual([
      ["rank 0", [null, 0.9, 1]],
      ["rank 1", [null, 0.5, 0.5]],
    ]);
    const virtual = system({ simulated: true, processes: system().processes.slice(0, 1), host: null });
    expect(processSeries(virtual, "memory", 0).map((one) => one.label)).toEqual(["process"]);
    expect(hostSeries(virtual, [{ name: "sent", label: "sent" }], 0)).toEqual([]);
  });

  it("are mean, greatest and least where there are many ranks", () => {
    const processes = Array.from({ length: MOST_CURVES + 1 }, (_, rank) => ({
      rank,
      cpu: [null, rank, rank === 0 ? null : 2],
      memory: [1, 1, 1],
    }));
    const found = processSeries(system({ processes }), "cpu", 0);
    expect(found.map((one) => one.y)).toEqual([
      [null, 4, 2],
      [null, 8, 2],
      [null, 0, 2],
    ]);
  });

  it("leave out what could not be loaded", () => {
    const figures = [
      { name: "received", label: "received" },
      { name: "power", label: "power" },
    ] as const;
    expect(hostSeries(system(), figures, 0).map((one) => one.label)).toEqual(["received"]);
  });

  it.each([
    [
      { joules: 12_345, seconds: 100, note: "" },
      "Energy: 12.3 kJ in 1 min 40 s, 123 W on average: of the processors and the memory of the whole machine, not of the run alone.",
    ],
    [
      { joules: 5, seconds: 0, note: "so far" },
      "Energy: 5 J in 0 s: of the processors and the memory of the whole machine, not of the run alone; so far.",
    ],
    [
      { joules: 5, seconds: 0, note: "its GPUs used 4 J of it" },
      "Energy: 5 J in 0 s: of the processors and the memory of the whole machine and of the GPUs that its ranks used, not of the run alone; its GPUs used 4 J of it.",
    ],
    [
      { joules: null, seconds: null, note: "not readable here: no counter" },
      "Energy: not readable here: no counter.",
    ],
  ])("say of the energy %j what it is of", (energy, expected) => {
    expect(energyWords(energy)).toBe(expected);
  });

  it.each([
    [{}, "Of the ranks on node1; network and power are those of the whole host, sampled by its supervisor"],
    [{ elsewhere: [2] }, "Rank 2 ran on other hosts and was not sampled."],
    [{ elsewhere: [2, 3] }, "Ranks 2, 3 ran on other hosts and were not sampled."],
    [{ elsewhere: Array.from({ length: 12 }, (_, i) => i) }, "8, 9 and others ran"],
    [{ simulated: true, host: null }, "Of the process that simulates all ranks, sampled"],
  ])("say of %j what they are of", (changes, expected) => {
    expect(systemWords(system(changes))).toContain(expected);
  });
});

it("ranks have the colour of their variant, and patterns of their own", () => {
  const [one] = system().processes;
  const processes = Array.from({ length: 8 }, (_, rank) => ({ ...(one as ProcessSamples), rank }));
  const series = processSeries(system({ processes }), "cpu", 3);
  expect(new Set(series.map(({ style }) => style.light))).toEqual(new Set([variantStyle(3).light]));
  expect(new Set(series.map(({ style }) => style.dash.join())).size).toBe(8);
});
