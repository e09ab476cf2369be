import { screen, within } from "@testing-library/react";
import type { ComponentType } from "react";
import { describe, expect, it } from "vitest";
import { History } from "@/features/run/history";
import { RankPhases, ranksSheet } from "@/features/run/rank-phases";
import { Staleness, stalenessSheet } from "@/features/run/staleness";
import type { RunView } from "@/lib/client/types.gen";
import { show } from "../support/app";
import { checkpoint, phases, run, transition } from "../support/fixtures/run";

const WHY =
  "its process has ended, rank 1 at its step 1200: the run continues without it; 128 samples that it held are handed out again";
const part = (id: string) => within(screen.getByTestId(id));
const shown = (Part: ComponentType<{ run: RunView }>, changes: Partial<RunView>) =>
  show(<Part run={run(changes)} />);

describe("the history", () => {
  it("has every change of state, when, by whom, why, and the evidence", () => {
    shown(History, {
      state: "failed_infra",
      history: [
        transition("queued", 0),
        transition("running", 5),
        transition("failed_infra", 130, {
          who: "supervisor",
          why: "a rank died",
          exit_code: 137,
          signal: 9,
          rank: 1,
          host: "node2",
          attempt: 2,
          reported_at: "2223-01-02T03:04:05Z",
        }),
      ],
    });
    const steps = part("history").getAllByTestId("transition");
    expect(steps.map((step) => step.dataset.state)).toEqual(["queued", "running", "failed_infra"]);
    const moments = steps.map((step) => step.querySelector("time")?.title ?? "");
    expect(moments[1]).toMatch(/^2026-03-01 \d\d:00:05$/);
    expect(moments[2]).toMatch(/^2026-03-01 \d\d:02:10; 2223-01-0\d \d\d:04:05 by the clock of its host$/);
    expect(steps[1]).toHaveTextContent("+5 s");
    expect(steps[1]).toHaveTextContent("it is running · scheduler");
    expect(steps[2]).toHaveTextContent("+2 min 05 s");
    expect(steps[2]).toHaveTextContent(
      "a rank died (exit code 137, signal 9, rank 1, on node2) · supervisor, attempt 2",
    );
  });

  it.each([
    [2, undefined],
    [3, "and an earlier one, replaced since"],
    [5, "and 3 earlier ones, replaced since"],
  ])("lists the newest of %i checkpoints, and who left", (count, rest) => {
    shown(History, {
      checkpoints: Array.from({ length: count }, (_, i) => checkpoint((i + 1) * 1000)),
      dropped: [{ worker: 1, step: 1200, why: WHY, attempt: 1, at: "2026-03-01T10:01:00Z" }],
    });
    expect(part("kept").getByTestId("dropped-worker")).toHaveTextContent(
      `Worker 1 left at step 1,200: ${WHY}.`,
    );
    const listed = part("kept").getAllByTestId("checkpoint");
    expect(listed.map((item) => item.title)).toEqual([`ckpt-${count - 1}000`, `ckpt-${count}000`]);
    const last = part("kept").getAllByRole("listitem").at(-1);
    if (rest) expect(last).toHaveTextContent(rest);
    else expect(last).toBe(listed.at(-1));
  });

  it.each([
    [
      1200,
      3,
      "/columns/clock",
      "1,200 records could not be stored, the first number 7 of rank 3: no number (/columns/clock)",
    ],
    [
      1,
      null,
      "",
      "1 record could not be stored, the first line 7 of the output: no number (the whole record)",
    ],
  ])("counts %i records that could not be stored, and shows the first", (refused, rank, pointer, told) => {
    shown(History, { refused, refusals: [{ attempt: 1, seq: 7, rank, pointer, message: "no number" }] });
    expect(part("kept").getByTestId("refused")).toHaveTextContent(told);
  });
});

describe("phases by rank", () => {
  it("have a bar for each rank, and its communication over wall time without evaluation", () => {
    shown(RankPhases, {
      phases: [
        phases(0),
        phases(1, { role: "server", wall: 2, evaluate: 2, hidden: 0.5, notes: { device: "cpu" } }),
      ],
    });
    const [worker, master] = screen.getAllByTestId("rank-phase");
    expect(worker).toHaveTextContent("worker 0 12 s wall · 1,500 steps");
    expect(worker).toHaveTextContent("20.0% communication · 300 MB in 3,000 messages"); // 2 s of 12 - 2
    expect(master).toHaveTextContent("– communication");
    expect(master).toHaveTextContent("500 ms hidden");
    expect(within(master as HTMLElement).getByTestId("rank-notes")).toHaveTextContent("devicecpu");
    expect(within(worker as HTMLElement).queryByTestId("rank-notes")).toBeNull();
  });

  it("are seconds of each phase as a table, with what is said beside the bars", async () => {
    const { rows } = ranksSheet([phases(0), phases(1, { role: "server", evaluate: 12, hidden: 0.5 })]);
    const beside = ["300 MB", "3,000"];
    expect(rows).toEqual([
      ["worker 0", "1 s", "5 s", "2 s", "1 s", "2 s", "1 s", "12 s", "1,500", "20.0%", "0 s", ...beside],
      ["server 1", "1 s", "5 s", "2 s", "1 s", "12 s", "1 s", "12 s", "1,500", "–", "500 ms", ...beside],
    ]);
    const { user } = shown(RankPhases, {});
    await user.click(screen.getByRole("button", { name: "Export: Phases by rank" }));
    await user.click(await screen.findByRole("menuitem", { name: "Show as a table" }));
    const table = await screen.findByTestId("sheet-table");
    expect(within(table).getAllByRole("row")).toHaveLength(3);
  });

  it("say so before the first step, and call virtual seconds virtual", () => {
    const view = shown(RankPhases, { phases: [], state: "running" });
    expect(part("rank-phases").getByText("No rank has taken a step yet.")).toBeVisible();
    view.again(<RankPhases run={run({ phases: [], state: "failed_user" })} />);
    expect(screen.getByText("The run ended before any rank took a step.")).toBeVisible();
    view.again(<RankPhases run={run({ simulated: true })} />);
    expect(screen.getAllByText(/12 s virtual/)).toHaveLength(2);
  });
});

describe("staleness", () => {
  it("has a bar for each staleness, as high as its share of the most", () => {
    shown(Staleness, { staleness: 1.25, staleness_histogram: { 0: 10, 1: 40, 3: 20 }, lost_mass: 0.021 });
    const bars = part("staleness").getAllByRole("listitem");
    expect(bars.map((bar) => bar.textContent)).toEqual(["100", "401", "02", "203"]); // count, then staleness
    const heights = bars.map((bar) => Number.parseFloat((bar.children[1] as HTMLElement).style.height));
    expect(heights).toEqual([27.5, 110, 1, 55]);
    expect(screen.getByTestId("staleness")).toHaveTextContent(
      "mean 1.25 center updates over 70 exchanges · lost 2.1% of pushed update mass",
    );
  });

  it("is a table of every value, with the share of those that are no staler", () => {
    expect(stalenessSheet({ 3: 20, 0: 10, 12: 10 }).rows).toEqual([
      ["0", "10", "25.0%", "25.0%"],
      ["3", "20", "50.0%", "75.0%"],
      ["12", "10", "25.0%", "100.0%"],
    ]);
  });

  it("is left out where nothing can be stale", () => {
    shown(Staleness, {});
    expect(screen.queryByTestId("staleness")).toBeNull();
  });
});
