import { createElement, Fragment, type ReactNode } from "react";
import { withCode } from "@/lib/ui/code";
import styles from "./algorithms.module.css";
import { linesOf, type Piece, piecesOf } from "./equation-lines";
import type { Item } from "./equation-parse";

const SIGNS: Record<string, string> = { "-": "−", "<=": "≤", ">=": "≥", "->": "→", "...": "…" };
const TALL = new Set<Item["kind"]>(["operator", "relation", "stop"]);

/** The equations of a method, typeset, and the text that they are made from. */
export function Equations({ text }: { text: string }) {
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section className={styles.equations} tabIndex={0} aria-label="Equations">
        {linesOf(text).map(({ label, segments }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a text have no identity but their place
          <Fragment key={i}>
            <span className={styles.label}>{label.map(show)}</span>
            <span>
              {segments.map(({ pieces, comment }, k) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line have no identity but their place
                <span key={k} className={comment ? styles.comment : styles.segment}>
                  {pieces.map(show)}
                </span>
              ))}
            </span>
          </Fragment>
        ))}
      </section>
      <details className={styles.plain}>
        <summary>As plain text</summary>
        <pre>{text}</pre>
      </details>
    </>
  );
}

/** A sentence with its mathematics typeset. */
export function Typeset({ text }: { text: string }) {
  return piecesOf(text).map(show);
}

function show(piece: Piece, i: number): ReactNode {
  return (
    <Fragment key={i}>
      {i > 0 && " "}
      {piece.kind === "text" ? withCode(piece.text) : element("math", {}, ...row(piece.items))}
    </Fragment>
  );
}

type Attributes = Record<string, string>;

/** An element of MathML, for which React has no types. */
function element(name: string, attributes: Attributes, ...inside: ReactNode[]): ReactNode {
  return createElement(name, attributes, ...inside);
}

/** Items beside each other; factors are parted as the text parts them. */
function row(items: readonly Item[]): ReactNode[] {
  return items.flatMap((item, i) => {
    const before = items[i - 1];
    const beside = before && item.spaced && !TALL.has(before.kind) && !TALL.has(item.kind);
    return beside ? [element("mspace", { width: "0.22em" }), draw(item)] : [draw(item)];
  });
}

function rowOf(items: readonly Item[]): ReactNode {
  return element("mrow", {}, ...row(items));
}

function draw(item: Item): ReactNode {
  switch (item.kind) {
    case "letter":
      return element("mi", {}, item.text);
    case "name":
      return element("mi", { mathvariant: "normal" }, item.text);
    case "number":
      return element("mn", {}, item.text);
    case "word":
      return element("mtext", {}, item.text);
    case "stop":
      return element("mo", { separator: "true", lspace: "0" }, SIGNS[item.text] ?? item.text);
    case "operator":
    case "relation":
      return element("mo", {}, SIGNS[item.text] ?? item.text);
    case "fence": {
      const stretchy = String(item.inside.some(({ kind }) => kind === "fraction"));
      const sign = (text: string) => element("mo", { fence: "true", stretchy }, text);
      return rowWith(sign(item.open), ...row(item.inside), sign(item.close));
    }
    case "row":
      return rowOf(item.inside);
    case "applied":
      return rowWith(draw(item.name), draw(item.to));
    case "hat":
      return element("mover", { accent: "true" }, draw(item.base), element("mo", {}, "^"));
    case "root":
      return element("msqrt", {}, ...row(item.inside));
    case "fraction":
      return element("mfrac", {}, rowOf(item.over), rowOf(item.under));
    case "sum":
      return element("msub", {}, element("mo", { largeop: "false" }, "∑"), rowOf(item.below));
    case "scripts":
      return scripts(draw(item.base), item.below, item.above);
  }
}

function rowWith(...inside: ReactNode[]): ReactNode {
  return element("mrow", {}, ...inside);
}

/** Primes have the size of the letter: in many fonts those of superscripts are specks. */
function scripts(base: ReactNode, below: readonly Item[], above: string): ReactNode {
  const exponent = above.replaceAll("′", "");
  const primes = above.slice(exponent.length);
  const lowered = below.length === 0 ? base : element("msub", {}, base, rowOf(below));
  const primed = primes
    ? rowWith(
        lowered,
        element("mo", { form: "postfix", lspace: "0", rspace: "0" }, "′".repeat(primes.length)),
      )
    : lowered;
  if (!exponent) return primed;
  return element("msup", {}, primed, element(/\d$/.test(exponent) ? "mn" : "mi", {}, exponent));
}
