import { describe, expect, it } from "vitest";
import { paragraphsOf, unfilled } from "@/lib/format/docstring";

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

  it("is its equations, its prose, and what it declares by a heading", () => {
    const text = `Sync EASGD.\n\nx' = x - lr g\n\n${LONG}\nstay equal.\n\n  a  b\n\nReference: You, 2017:\nAlgorithm 2.`;
    expect(paragraphsOf(text)).toEqual([
      { kind: "laid out", heading: "", text: "x' = x - lr g" },
      { kind: "prose", heading: "", text: `${LONG} stay equal.` },
      { kind: "laid out", heading: "", text: "  a  b" },
      { kind: "prose", heading: "Reference", text: "You, 2017: Algorithm 2." },
    ]);
    expect(paragraphsOf("Only a title.")).toEqual([]);
  });
});
