import page from "@docs/algorithms.md?raw";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { linesOf, type Piece, piecesOf } from "@/features/algorithms/equation-lines";
import { Equations, Typeset } from "@/features/algorithms/equations";
import { COST } from "@/features/algorithms/facts";

/** The equations of every built-in method, and what each says of its cost. */
const METHODS = page
  .split(/^## /m)
  .slice(1)
  .flatMap((section) => {
    const equations = /```\n([\s\S]*?)\n```/.exec(section)?.[1];
    const cost = COST.exec(section.replaceAll("\n", " "))?.[0] ?? "";
    return equations ? [{ name: section.split("\n")[0] ?? "", equations, cost }] : [];
  });

const GLYPHS: Record<string, string> = {
  ...{
    α: "alpha",
    β: "beta",
    γ: "gamma",
    η: "eta",
    μ: "mu",
    φ: "phi",
    ρ: "rho",
    τ: "tau",
    "∑": "sum",
    "′": "'",
  },
  ...{ "−": "-", "≤": "<=", "≥": ">=", "→": "->", "…": "..." },
};

/** The letters, digits and operators of a text, without what typesetting replaces by positions and lines. */
function bare(text: string): string {
  const plain = [...text].map((sign) => GLYPHS[sign] ?? sign).join("");
  return plain.replace(/sqrt|[\s_^/()[\]|`]/g, "");
}

function textOf(markup: string): string {
  const holder = document.createElement("div");
  holder.innerHTML = markup;
  return (holder.querySelector("section") ?? holder).textContent ?? "";
}

const markup = (text: string) => renderToStaticMarkup(<Typeset text={text} />);

describe("the equations of the built-in methods", () => {
  it("there are many", () => {
    expect(METHODS.length).toBeGreaterThan(35);
    expect(METHODS.filter(({ cost }) => cost).length).toBeGreaterThan(25);
  });

  it.each(METHODS)(
    "$name: every letter, digit and operator is there, in its order",
    ({ equations, cost }) => {
      expect(bare(textOf(renderToStaticMarkup(<Equations text={equations} />)))).toBe(bare(equations));
      expect(bare(textOf(markup(cost)))).toBe(bare(cost));
    },
  );

  it.each(METHODS)("$name: whatever is an equation is typeset, and words are words", ({ equations }) => {
    const pieces = linesOf(equations).flatMap(({ label, segments }): Piece[] => [
      ...label,
      ...segments.flatMap((segment) => segment.pieces),
    ]);
    const texts = pieces.flatMap((piece) => (piece.kind === "text" ? [piece.text] : []));
    for (const text of texts) expect(text).not.toMatch(/[=_^+<>|/]|^[b-zA-Z]$/);
    expect(pieces.some(({ kind }) => kind === "math")).toBe(true);
  });
});

describe("the plain notation", () => {
  it("subscripts and primes stand beside their letter", () => {
    expect(markup("x_i' = x_i")).toBe(
      '<math><mrow><msub><mi>x</mi><mrow><mi>i</mi></mrow></msub><mo form="postfix" lspace="0" rspace="0">′</mo></mrow>' +
        "<mo>=</mo><msub><mi>x</mi><mrow><mi>i</mi></mrow></msub></math>",
    );
  });

  it.each([
    ["x - (lr / P) c", '<mfrac><mrow><mi mathvariant="normal">lr</mi></mrow><mrow><mi>P</mi></mrow></mfrac>'],
    ["(x + y) / 2", "<mfrac><mrow><mi>x</mi><mo>+</mo><mi>y</mi></mrow><mrow><mn>2</mn></mrow></mfrac>"],
    ["u / sum_j v", '<mrow><msub><mo largeop="false">∑</mo><mrow><mi>j</mi></mrow></msub>'],
    ["M^ = P", '<mover accent="true"><mi>M</mi><mo>^</mo></mover>'],
    ["T^-1", "<msup><mi>T</mi><mn>−1</mn></msup>"],
    ["sqrt(v)", "<msqrt><mi>v</mi></msqrt>"],
    ["c_before", '<msub><mi>c</mi><mrow><mi mathvariant="normal">before</mi></mrow></msub>'],
    ["outer_lr D", '<mi mathvariant="normal">outer_lr</mi><mspace width="0.22em"></mspace><mi>D</mi>'],
    ["2 log2(P)", '<msub><mi mathvariant="normal">log</mi><mrow><mn>2</mn></mrow></msub>'],
    ["t <= T", "<mo>≤</mo>"],
  ])("%s", (text, part) => expect(markup(text)).toContain(part));

  it("comments, articles and what has no meaning in it stay as text", () => {
    expect(markup("c' = c + a x     whoever comes first".slice(0, 12))).toContain("<mi>a</mi>");
    expect(piecesOf("a reply of a server")).toEqual([{ kind: "text", text: "a reply of a server" }]);
    expect(piecesOf("§ ü")).toEqual([{ kind: "text", text: "§ ü" }]);
    expect(textOf(markup("x = (y"))).toBe("x=(y)");
    expect(markup("x /")).toContain("/");
  });

  it("a line has a label, equations and a comment", () => {
    const [line, more] = linesOf("(2) center   c'   = c + x        one at a time\n             m = 1");
    expect(line?.label.at(-1)).toEqual({ kind: "text", text: "center" });
    expect(line?.segments.map(({ comment }) => comment)).toEqual([false, true]);
    expect(more?.label).toEqual([]);
    expect(linesOf("t <  T:   m' = 1")[0]?.segments).toHaveLength(1);
  });
});
