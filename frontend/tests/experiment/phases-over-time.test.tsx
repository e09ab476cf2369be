import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { nextLook } from "@/features/experiment/phases-look";
import type { PhasesRow } from "@/lib/client/types.gen";
import { comparison, row } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";
import { answerExperiment, openExperiment } from "./page";

const server = apiServer();
const BINS = 60;
const even = (value: number) => Array.from({ length: BINS }, () => value);

/** A run of 60 s that communicates half of its first half, and a tenth of the rest. */
function phasesRow(variant: string, changes: Partial<PhasesRow> = {}): PhasesRow {
  const halves = (first: number, second: number) => [
    ...Array.from({ length: BINS / 2 }, () => first),
    ...Array.from({ length: BINS / 2 }, () => second),
  ];
  return {
    ...{ variant, cluster: "local", workers: 2, simulated: false, span: 60, end: 60 },
    runs: ["run_1", "run_2", "run_3"],
    shares: [even(0), halves(0.5, 0.9), even(0), halves(0.5, 0.1), even(0), even(0), even(0)],
    hidden: halves(0, 0.25),
    ...changes,
  };
}

beforeEach(() => {
  answerExperiment(server);
  server
    .on("GET /experiments/*/comparison", comparison({ rows: [row("Original EASGD"), row("Sync EASGD")] }))
    .on("GET /experiments/*/phases", {
      phases: [],
      bins: BINS,
      rows: [phasesRow("Sync EASGD"), phasesRow("Original EASGD", { end: 30 })],
    });
});
const areas = () => screen.getAllByTestId("phase-area");
const drawing = (area: HTMLElement | undefined) => within(area as HTMLElement).getByRole("img");

describe("phases over time", () => {
  it("are asked for when they are switched on, for the group in view", async () => {
    const { user, address } = await openExperiment(server);
    expect(server.askedFor("GET /experiments/*/phases")).toHaveLength(0);
    await user.click(screen.getByRole("switch", { name: "Over time" }));
    await waitFor(() => expect(address()).toBe("/experiments/exp_7?phases=time"));
    await waitFor(() => expect(drawing(areas()[1])).toBeVisible());
    const { query } = server.askedFor("GET /experiments/*/phases")[0] ?? {};
    expect([query?.get("cluster"), query?.get("workers")]).toEqual(["local", "2"]);
    expect(screen.getByText("communicate, hidden")).toBeVisible();
    expect(screen.queryByTestId("phase-row")).toBeNull();
  });

  it("are drawn in the order of the variants, and say how they begin and end", async () => {
    await openExperiment(server, "/experiments/exp_7?phases=time");
    await waitFor(() => expect(drawing(areas()[1])).toBeVisible());
    expect(areas().map((area) => area.dataset.variant)).toEqual(["Original EASGD", "Sync EASGD"]);
    expect(drawing(areas()[1])).toHaveAccessibleName(
      "Sync EASGD over 60 s: 50.0% exposed at first, 10.0% in the last third",
    );
    const cells = within(screen.getByTestId("phases-table"))
      .getAllByRole("row", { hidden: true })
      .map((line) => [...line.children].map((cell) => cell.textContent));
    expect(cells[0]?.slice(0, 4)).toEqual(["Variant", "Third", "data", "compute"]);
    expect(cells[3]).toEqual([
      ...["Sync EASGD", "last", "0.0%", "90.0%", "10.0%", "0.0%", "0.0%", "0.0%", "25.0%"],
    ]);
  });

  it("say what was exposed and what was hidden at the pointer, of every variant", async () => {
    await openExperiment(server, "/experiments/exp_7?phases=time");
    await waitFor(() => expect(drawing(areas()[0])).toBeVisible());
    const svg = drawing(areas()[0]);
    vi.spyOn(svg, "getBoundingClientRect").mockReturnValue({ left: 0, width: 600 } as DOMRect);
    fireEvent.pointerMove(svg, { clientX: 455 });
    for (const area of areas()) expect(area).toHaveTextContent(/10.0% exposed\s*25.0% hidden/);
    expect(screen.getByText("45 s to 46 s")).toBeInTheDocument();
    fireEvent.pointerLeave(svg);
    expect(areas()[0]).toHaveTextContent(/50.0% exposed at first/);
  });

  it("say where not all seeds were read, and what has no step yet", async () => {
    server.on("GET /experiments/*/phases", {
      phases: [],
      bins: BINS,
      rows: [phasesRow("Sync EASGD", { runs: ["run_1"] })],
    });
    await openExperiment(server, "/experiments/exp_7?phases=time");
    expect(await screen.findByText(/not all seeds are shown/)).toBeVisible();
    expect(areas()[0]).toHaveTextContent("No step yet");
  });

  it("that cannot be read are asked for again", async () => {
    server.on("GET /experiments/*/phases", new Refusal(404, "Gone."));
    const { user } = await openExperiment(server, "/experiments/exp_7?phases=time");
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("The phases could not be loaded. Gone.");
    server.on("GET /experiments/*/phases", { phases: [], bins: BINS, rows: [phasesRow("Sync EASGD")] });
    await user.click(within(alert).getByRole("button", { name: "Try again" }));
    await waitFor(() => expect(areas()).toHaveLength(2));
  });

  it.each([
    ["running", null, 20, 1500],
    ["running", null, 3600, 6000],
    ["succeeded", "2026-11-20T10:00:00Z", 20, 1500],
    ["succeeded", "2026-11-20T09:59:40Z", 20, false],
  ] as const)("of an experiment that is %s since %s, of %i s, are read again after %s ms", (...of) => {
    const [state, finished_at, span, expected] = of;
    expect(nextLook({ state, finished_at }, span, Date.parse("2026-11-20T10:00:10Z"))).toBe(expected);
  });
});
