import { describe, expect, it } from "vitest";
import { among, areaPath, bandsOf, phasesOver, pieces } from "@/lib/charts/phase-stack";
import { PHASES } from "@/lib/theme/palette";

/** data, compute, rebuild, communicate, update, evaluate, idle in three parts; in the last one nothing is recorded. */
const SHARES = [
  [0.1, 0, 0],
  [0.5, 0.8, 0],
  [0, 0, 0],
  [0.2, 0.2, 0],
  [0.1, 0, 0],
  [0, 0, 0],
  [0.1, 0, 0],
];
const AREA = { shares: SHARES, hidden: [0.05, 0.9, 0] };

describe("the bands of phases", () => {
  const { phases, behind } = bandsOf(AREA);

  it("lie on one another, and fill what was recorded", () => {
    expect(phases).toHaveLength(7);
    for (const [i, band] of phases.entries())
      for (const [part, [low, high]] of band.entries()) {
        expect(high - low).toBeCloseTo(SHARES[i]?.[part] ?? 0, 9);
        expect(low).toBeCloseTo(phases[i - 1]?.[part]?.[1] ?? 0, 9);
      }
    expect(phases.at(-1)?.map(([, high]) => high)).toEqual([expect.closeTo(1, 9), 1, 0]);
  });

  it("have hidden communication at the top of compute, and no more than that", () => {
    expect(behind[0]).toEqual([expect.closeTo(0.55, 9), expect.closeTo(0.6, 9)]);
    expect(behind[1]).toEqual([0, 0.8]);
    expect(behind[2]).toEqual([0, 0]);
  });

  it("have an outline in steps, upside down", () => {
    const path = areaPath([
      [0, 0.25],
      [0.5, 1],
    ]);
    expect(path).toBe("M0 1V0.75H1V0H2V0.5H1V1H0Z");
    expect(areaPath([])).toBe("");
  });
});

describe("pieces of the time", () => {
  it("are means over the parts in which something was recorded", () => {
    const [first, second] = pieces(AREA, 2);
    expect(first).toEqual({ shares: [0.1, 0.5, 0, 0.2, 0.1, 0, 0.1], hidden: 0.05 });
    expect(second).toEqual({ shares: [0, 0.8, 0, 0.2, 0, 0, 0], hidden: 0.9 });
    const [whole] = pieces(AREA, 1);
    expect(whole?.shares[1]).toBeCloseTo(0.65, 9);
  });

  it("of nothing are nothing", () => {
    expect(pieces({ shares: [[0], [0], [0], [0], [0], [0], [0]], hidden: [0] }, 3)[2]?.hidden).toBe(0);
  });
});

describe("the phases that are shown", () => {
  const built = { shares: SHARES.map((of, at) => (at === 2 ? [0, 0.01, 0] : of)) };

  it("have rebuild only where some part of the time has it", () => {
    expect(phasesOver([AREA])).not.toContain("rebuild");
    expect(phasesOver([AREA, built])).toEqual(PHASES);
    expect(phasesOver([])).toHaveLength(PHASES.length - 1);
  });

  it("keep the figures of the others in their places", () => {
    expect(among(phasesOver([AREA]), [1, 2, 3, 4, 5, 6, 7])).toEqual([1, 2, 4, 5, 6, 7]);
    expect(among(PHASES, [1, 2, 3, 4, 5, 6, 7])).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });
});
