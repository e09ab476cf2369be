import { describe, expect, it } from "vitest";
import { blocks, inlines } from "@/lib/keeping/markdown";

const text = (value: string) => ({ kind: "text", text: value });

describe("one line", () => {
  it("knows strong, emphasis, code and links", () => {
    expect(inlines("a **b** *c* `d*e*` [f](https://g.org/h) end")).toEqual([
      text("a "),
      { kind: "strong", text: "b" },
      text(" "),
      { kind: "em", text: "c" },
      text(" "),
      { kind: "code", text: "d*e*" },
      text(" "),
      { kind: "link", text: "f", href: "https://g.org/h" },
      text(" end"),
    ]);
  });

  it("makes links of addresses, without the mark that ends the sentence", () => {
    expect(inlines("see http://a.org/b?c=1.")).toEqual([
      text("see "),
      { kind: "link", text: "http://a.org/b?c=1", href: "http://a.org/b?c=1" },
      text("."),
    ]);
  });

  it.each([
    "[x](javascript:alert)",
    "[x](data:text/html,hi)",
    "[x](/relative)",
    "<b>bold</b>",
    "2 * 3 * 4",
    "a_b_c",
  ])("leaves %s as text", (line) => {
    const parts = inlines(line);
    expect(parts.every(({ kind }) => kind === "text")).toBe(true);
    expect(parts.map((part) => part.text).join("")).toBe(line);
  });
});

describe("a note", () => {
  it("has headings, paragraphs, lists and code", () => {
    const found = blocks("# Why\n\nfirst\nsecond\n\n- a\n- b\n\n1. c\n2. d\n\n```\n# no heading\n```\nlast");
    expect(found.map(({ kind }) => kind)).toEqual([
      "heading",
      "paragraph",
      "list",
      "list",
      "pre",
      "paragraph",
    ]);
    expect(found[1]).toEqual({ kind: "paragraph", parts: [text("first"), text("\n"), text("second")] });
    expect(found[2]).toEqual({ kind: "list", ordered: false, items: [[text("a")], [text("b")]] });
    expect(found[3]).toMatchObject({ ordered: true, items: [[text("c")], [text("d")]] });
    expect(found[4]).toEqual({ kind: "pre", text: "# no heading" });
  });

  it("ends with code that nobody closed", () => {
    expect(blocks("```\na\nb")).toEqual([{ kind: "pre", text: "a\nb" }]);
  });

  it("of nothing is nothing", () => {
    expect(blocks("\n \n")).toEqual([]);
  });
});

describe("a note as people type it", () => {
  const kinds = (note: string) => blocks(note).map(({ kind }) => kind);

  it("has the line ends of any system", () => {
    expect(blocks("# a\r\n\r\n- b\r\n- c")).toEqual(blocks("# a\n\n- b\n- c"));
  });

  it.each([
    ["a paragraph", "text\n- a\n- b", ["paragraph", "list"]],
    ["a heading", "# head\ntext", ["heading", "paragraph"]],
    ["a blank line", "- a\n\n- b", ["list", "list"]],
    ["another kind of list", "- a\n1. b", ["list", "list"]],
    ["code", "```\na\n```\n- b", ["pre", "list"]],
  ])("begins a new block after %s", (_, note, expected) => {
    expect(kinds(note)).toEqual(expected);
  });

  it.each(["#5 is the run", "-1.5 is low", "1.5 is high", "####### seven", "**", "[empty]()", "``"])(
    "has no mark in %s",
    (line) => {
      expect(blocks(line)).toEqual([{ kind: "paragraph", parts: [text(line)] }]);
    },
  );

  it("has marks in headings and in items of lists", () => {
    const strong = { kind: "strong", text: "b" };
    expect(blocks("## a **b**")).toEqual([{ kind: "heading", parts: [text("a "), strong] }]);
    expect(blocks("2) **b**")).toEqual([{ kind: "list", ordered: true, items: [[strong]] }]);
  });

  it("keeps an address in code as code, and one in a sentence apart from its brackets", () => {
    expect(inlines("`https://a.org`")).toEqual([{ kind: "code", text: "https://a.org" }]);
    expect(inlines("(https://a.org/x)").map((part) => part.text)).toEqual(["(", "https://a.org/x", ")"]);
  });
});
