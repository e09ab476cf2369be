import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { PhaseBar, PhaseKey } from "@/lib/charts/phase-bar";
import { PHASES, phasesIn } from "@/lib/theme/palette";
import { show } from "../support/app";

const parts = () =>
  [...screen.getByRole("img").children].map((part) => ({
    share: Number.parseFloat((part as HTMLElement).style.width),
    title: part.getAttribute("title"),
  }));

describe("a bar of phases", () => {
  it.each([
    ["seconds", { data: 1, compute: 5, communicate: 2, update: 1, evaluate: 0.5, idle: 0.5 }],
    ["shares", { compute: 0.6, communicate: 0.4 }],
    ["tiny figures", { data: 3e-9, update: 1e-9 }],
  ])("makes a whole of %s, in the order of the key", (_, shares) => {
    show(<PhaseBar shares={shares} label="Sync SGD" />);
    const whole = Object.values(shares).reduce((sum, value) => sum + value, 0);
    expect(parts().reduce((sum, part) => sum + part.share, 0)).toBeCloseTo(100, 6);
    const expected = PHASES.flatMap((phase) => {
      const value = (shares as Partial<Record<string, number>>)[phase];
      return value === undefined ? [] : [`${phase} ${((value / whole) * 100).toFixed(1)}%`];
    });
    expect(parts().map((part) => part.title)).toEqual(expected);
    expect(screen.getByRole("img")).toHaveAccessibleName(`Sync SGD: ${expected.join(", ")}`);
  });

  it.each([
    ["nothing", {}],
    ["only zeros", { compute: 0, idle: 0 }],
    ["a phase that it does not know", { lunch: 3 }],
  ])("says that nothing was measured where it is given %s", (_, shares) => {
    show(<PhaseBar shares={shares} label="rank 0" />);
    expect(parts()).toEqual([]);
    expect(screen.getByRole("img")).toHaveAccessibleName("rank 0: nothing measured yet");
  });
});

it("the key names the phases once, in the order of the bars, and says what they mean", () => {
  show(<PhaseKey phases={PHASES} />);
  const items = within(screen.getByRole("list", { name: "Phases" })).getAllByRole("listitem");
  expect(items.map((item) => item.textContent)).toEqual([...PHASES]);
  for (const item of items) expect(item.title).not.toBe("");
});

it("the phase in which tables are built is shown only where a run has spent time in it", () => {
  show(<PhaseKey />);
  expect(screen.queryByText("rebuild")).toBeNull();
  expect(screen.getByText("compute")).toBeVisible();
  expect(phasesIn([{ compute: 1, rebuild: 0 }, {}])).not.toContain("rebuild");
  expect(phasesIn([{ compute: 1 }, { compute: 1, rebuild: 1e-9 }])).toEqual(PHASES);
});
