import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { Forest, forestDomain, forestTicks, WIDE, within } from "@/features/experiment/forest";
import { ForestPlot } from "@/features/experiment/forest-plot";
import { groupsOf } from "@/features/experiment/groups";
import type { ComparisonRow, SpeedUp } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";
import { show } from "../support/app";
import { comparison, experiment, row, speedUp } from "../support/fixtures/experiment";

/** What stands in the plot; every x is a share of the width between the two edges, so 0.5 is "no difference". */
function marks() {
  const svg = screen.getByRole("img");
  const inner = { left: 8, width: Number(svg.getAttribute("width")) - 16 };
  const share = (x: string | null) => (Number(x) - inner.left) / inner.width;
  const box = svg.querySelector("rect");
  const line = svg.querySelector("line[stroke-width='2']");
  const arrow = svg.querySelector("path")?.getAttribute("d");
  return {
    ratio: box && share(String(Number(box.getAttribute("x")) + Number(box.getAttribute("width")) / 2)),
    interval: line && [share(line.getAttribute("x1")), share(line.getAttribute("x2"))],
    arrow: arrow && (/^M\S+ \S+ l-/.test(arrow) ? "left" : "right"),
    baseline: svg.querySelector("circle") !== null,
    color: box?.getAttribute("fill"),
  };
}

/** Where a ratio belongs: on a log axis from 1/reach to reach. */
const place = (value: number, reach: number) => (1 + Math.log(value) / Math.log(reach)) / 2;

function plot(changes: Partial<SpeedUp>, reach = 4) {
  const domain = [-Math.log(reach), Math.log(reach)] as const;
  show(<Forest speedUp={speedUp(changes)} domain={domain} index={1} />);
  return marks();
}

describe("one row", () => {
  it.each([
    ["faster", 2, 1.6, 2.5],
    ["slower", 0.5, 0.4, 0.8],
    ["same", 1, 0.97, 1.03],
    ["not shown", 1.2, 0.7, 2],
  ] as const)(
    "that is %s has its mark and its interval where a log axis has them",
    (claim, ratio, low, high) => {
      const drawn = plot({ claim, ratio, low, high });
      expect(drawn.ratio).toBeCloseTo(place(ratio, 4), 6);
      expect(drawn.interval?.[0]).toBeCloseTo(place(low, 4), 6);
      expect(drawn.interval?.[1]).toBeCloseTo(place(high, 4), 6);
      expect(drawn).toMatchObject({ arrow: undefined, baseline: false, color: variantStyle(1).color });
    },
  );

  it("of a bound is open at the end that nobody knows", () => {
    expect(plot({ claim: "at least", ratio: 3, low: 2, high: null })).toMatchObject({
      interval: [expect.closeTo(place(2, 4), 6), 1],
      arrow: "right",
    });
  });

  it.each([
    [5, 101, "right", [place(5, 20), 1]],
    [0.01, 0.5, "left", [0, place(0.5, 20)]],
  ] as const)("from %d to %d goes on beyond the axis", (low, high, arrow, interval) => {
    const drawn = plot({ claim: low > 1 ? "faster" : "slower", ratio: low > 1 ? 8 : 0.2, low, high }, 20);
    expect(drawn.arrow).toBe(arrow);
    expect(drawn.interval?.[0]).toBeCloseTo(interval[0], 6);
    expect(drawn.interval?.[1]).toBeCloseTo(interval[1], 6);
  });

  it("of an upper bound is open below", () => {
    expect(plot({ claim: "at most", ratio: 0.5, low: null, high: 0.8 })).toMatchObject({
      interval: [0, expect.closeTo(place(0.8, 4), 6)],
      arrow: "left",
    });
  });

  it("without a claim shows the ratio and no interval", () => {
    expect(plot({ claim: "no claim", ratio: 2, low: 1.5, high: 2.5 })).toMatchObject({
      ratio: expect.closeTo(0.75, 6),
      interval: null,
      arrow: undefined,
    });
  });

  it("of a variant that failed with every seed has no mark: that of seeds that miss it is no estimate", () => {
    const failed = { ratio: 0.2, low: null, high: null, censored: 2, pairs: 2 } as const;
    expect(plot({ ...failed, claim: "no claim" })).toMatchObject({ ratio: null, interval: null });
    expect(forestDomain([speedUp({ ...failed, claim: "no claim" })])[1]).toBeCloseTo(Math.log(1.5) * 1.08, 6);
  });

  it("of a bound on a variant that failed with every seed has the bound alone", () => {
    const bound = { claim: "at most", ratio: 0.3, low: null, high: 0.8, pairs: 3 } as const;
    expect(plot({ ...bound, censored: 3 })).toMatchObject({
      ratio: null,
      interval: [0, expect.closeTo(place(0.8, 4), 6)],
      arrow: "left",
    });
  });

  it.each([
    ["baseline", { claim: "baseline", ratio: 1, low: null, high: null }, true],
    ["target that was not reached", { claim: "no claim", ratio: null, low: null, high: null }, false],
  ] as const)("of a %s has no box", (_, changes, baseline) => {
    expect(plot(changes)).toMatchObject({ ratio: null, interval: null, baseline });
  });

  it("stays inside however far it lies out, and says its sentence", () => {
    expect(plot({ ratio: 100, low: 50, high: 200 }).ratio).toBe(1);
    expect(screen.getByRole("img")).toHaveAccessibleName(
      "Sync EASGD is 2.00 times as fast as Original EASGD.",
    );
  });
});

describe("the axis", () => {
  it.each<[string, Partial<SpeedUp>[], number]>([
    [
      "holds the widest interval, with room",
      [
        { low: 1.6, high: 2.5 },
        { low: 0.2, high: 1.1 },
      ],
      Math.log(5) * 1.08,
    ],
    ["is never narrower than 1.5 times", [{ ratio: 1.01, low: 0.99, high: 1.02 }], Math.log(1.5) * 1.08],
    ["cuts intervals at 20 times", [{ ratio: 3, low: 0.1, high: 900 }], Math.log(20) * 1.08],
    ["cuts no ratio", [{ ratio: 300, low: 200, high: 900 }], Math.log(300) * 1.08],
    [
      "holds what claims nothing, without its interval",
      [{ claim: "no claim", ratio: 9.3, low: 0.01, high: 100 }],
      Math.log(9.3) * 1.08,
    ],
    ["knows no interval of nothing", [], Math.log(1.5) * 1.08],
  ])("%s", (_, rows, reach) => {
    const [low, high] = forestDomain(rows.map((row) => speedUp({ ratio: 1, ...row })));
    expect(high).toBeCloseTo(reach, 6);
    expect(low).toBe(-high);
  });

  it("tells three ratios without a claim apart, each where a log axis has it", () => {
    const rows = [3.7, 6.1, 9.3].map((ratio) => speedUp({ claim: "no claim", ratio }));
    const domain = forestDomain(rows);
    const reach = Math.exp(domain[1]);
    for (const row of rows) {
      const { unmount } = show(<Forest speedUp={row} domain={domain} index={1} />);
      expect(marks().ratio).toBeCloseTo(place(row.ratio ?? 1, reach), 6);
      unmount();
    }
  });

  it("names round ratios inside it", () => {
    expect(forestTicks([-Math.log(9.3) * 1.08, Math.log(9.3) * 1.08])).toEqual([0.2, 1, 5]);
    expect(forestTicks([-Math.log(1.5) * 1.08, Math.log(1.5) * 1.08])).toEqual([1 / 1.5, 1, 1.5]);
  });

  it("names those halfway, too, where it is wide", () => {
    expect(forestTicks([-Math.log(9.3) * 1.08, Math.log(9.3) * 1.08], WIDE)).toEqual([0.2, 0.5, 1, 2, 5]);
    const narrow = Math.log(1.2) * 1.08;
    expect(forestTicks([-narrow, narrow], WIDE)).toEqual([1 / 1.2, 1, 1.2]);
  });
});

it("a label of the scale is moved where it would be cut", () => {
  expect(within(65, "1×")).toBe(65);
  for (const [x, label] of [
    [12, "0.33×"],
    [118, "100×"],
  ] as const) {
    const half = (label.length * 6) / 2; // a digit of 10.5 px is at most 6 px wide
    expect(within(x, label)).toBeGreaterThanOrEqual(half);
    expect(within(x, label)).toBeLessThanOrEqual(130 - half);
  }
});

describe("the plot of a verdict", () => {
  const wide = speedUp({ ratio: 2, low: 0.1, high: 10, claim: "not shown" });
  function plots(rows: ComparisonRow[], plain = false) {
    const [group] = groupsOf(comparison({ rows }));
    if (group) show(<ForestPlot experiment={experiment()} group={group} plain={plain} />);
    return screen.getAllByRole("listitem", { hidden: false });
  }

  it("draws all intervals on one axis: the same ratio stands at the same place", () => {
    const lines = plots([row("Sync EASGD", { speed_up: wide }), row("Hogwild EASGD")]);
    const [first, second] = lines.map((line) => line.querySelector("rect")?.getAttribute("x"));
    expect(first).toBeTruthy();
    expect(first).toBe(second);
    expect(screen.getByTestId("forest-axis")).toHaveTextContent("0.1×0.33×1×3×10×");
  });

  it("is read out once, in words", () => {
    const [line] = plots([row("Sync EASGD", { speed_up: wide })]);
    expect(line).toHaveTextContent("Sync EASGDInconclusive: 2.0× (0.10 to 10, 3 seeds)");
    expect(screen.queryByRole("img", { hidden: false })).toBeNull();
  });

  it("is words alone where no times are compared", () => {
    const [line] = plots(
      [row("Sync EASGD", { speed_up: speedUp({ claim: "no claim", ratio: null }) })],
      true,
    );
    expect(line?.querySelector("rect")).toBeNull();
    expect(screen.queryByTestId("forest-axis")).toBeNull();
  });
});
