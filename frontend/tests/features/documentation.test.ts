import { describe, expect, it } from "vitest";
import { unfilled } from "@/features/new-experiment/documentation";

const LONG = "Every worker has a replica of the center; the replicas start equal and";

describe("the documentation of a method", () => {
  it("breaks its paragraphs where the page ends, not where its file did", () => {
    expect(unfilled(`Sync EASGD.\n\n${LONG}\n${LONG}\nstay equal.\n\nReference: none.`)).toBe(
      `Sync EASGD.\n\n${LONG} ${LONG} stay equal.\n\nReference: none.`,
    );
  });

  it("keeps the lines of equations, lists and indented text", () => {
    const kept = [
      `(1) worker   x' = x - lr (g(x) + rho (x - c)) and so on, a line of many characters\n(2) center   c' = c`,
      "x' = x - lr g\nc' = c + x'",
      `- ${LONG}\n- ${LONG}`,
      `${LONG}:\n    ${LONG}`,
    ];
    for (const paragraph of kept) expect(unfilled(paragraph)).toBe(paragraph);
  });
});
