import { expect, it } from "vitest";
import { curveWords } from "@/features/experiment/curve-words";

const words = (changes: Partial<Parameters<typeof curveWords>[0]> = {}) =>
  curveWords({ show: undefined, many: false, target: true, crossings: true, ...changes });

it("says of which kind the lines are, as they are drawn", () => {
  expect(words()).toContain("Lines are means");
  expect(words({ show: "median" })).toContain("Lines are medians");
  expect(words({ show: "each" })).toMatch(/^Each thin line is a seed\. Ticks/);
});

it("says with very many runs that means are drawn, whatever is asked for, and that seeds are not", () => {
  for (const show of [undefined, "median", "each"] as const) {
    const told = words({ show, many: true });
    expect(told).toContain("Lines are means");
    expect(told).toContain("for up to 150 runs");
    expect(told).not.toContain("pale line");
    expect(told).not.toContain("Ticks");
  }
});

it("speaks of dots only where there are some", () => {
  expect(words()).toContain("A dot on the target line is a run that met the target.");
  expect(words({ target: false })).not.toContain("target");
  expect(words({ crossings: false })).not.toContain("dot");
});
