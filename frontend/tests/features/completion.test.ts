import { describe, expect, it } from "vitest";
import { accept, complete } from "@/lib/filter/completion";
import { quoted } from "@/lib/keeping/quoted";
import { FIELDS } from "../support/fixtures/filters";

const EVERY_FIELD = [...FIELDS.map(({ name }) => name), "not"];

/** What is proposed where the bar stands. */
function proposals(marked: string): string[] {
  const caret = marked.indexOf("|");
  return complete(marked.replace("|", ""), caret, FIELDS).proposals.map(({ text }) => text);
}

describe("what may follow", () => {
  it.each([
    ["|", EVERY_FIELD],
    ["st|", ["state", "starred", "test_accuracy.max", "test_accuracy.min"]],
    ["acc|", ["test_accuracy.max", "test_accuracy.min"]],
    ["state |", ["=", "!=", "in"]],
    ["state = |", ["queued", "running", "succeeded", "failed", "cancelled"]],
    ["state = ru|", ["running"]],
    ["state = running |", ["and", "or"]],
    ["state = running o|", ["or"]],
    ["starred |", ["=", "!=", "and", "or"]],
    ["starred and not |", EVERY_FIELD],
    ["(state = failed or al|", ["algorithm"]],
    ["tag in |", ["("]],
    ["tag in (|", ["paper", '"two words"', '"with \\"quotes\\""']],
    ["tag in (paper |", [",", ")"]],
    ["tag in (paper, |", ["paper", '"two words"', '"with \\"quotes\\""']],
    ["tag in (paper) |", ["and", "or"]],
    ['tag = "two|', ['"two words"']],
    ['"some name" |', ["and", "or"]],
    ["starred = |", ["true", "false"]],
    ["test_accuracy.max > |", []],
    ["nothing |", EVERY_FIELD],
  ])("%s", (marked, expected) => {
    expect(proposals(marked)).toEqual(expected);
  });

  it("is nothing once a word is whole", () => {
    expect(proposals("state = running|")).toEqual([]);
  });

  it("looks at the place of the caret, not at the end", () => {
    expect(proposals("sta| = running")).toEqual(["state", "starred"]);
  });

  it.each([
    ["STATE = |", ["queued", "running", "succeeded", "failed", "cancelled"]],
    ["state = RUN|", ["running"]],
    ["starred AND al|", ["algorithm"]],
    ["starred OR NOT al|", ["algorithm"]],
    ["tag IN (PAP|", ["paper"]],
  ])("in capitals as in small letters: %s", (marked, expected) => {
    expect(proposals(marked)).toEqual(expected);
  });

  it.each([
    ["state=|", ["queued", "running", "succeeded", "failed", "cancelled"]],
    ["state=fa|", ["failed"]],
    ["tag in(paper,tw|", ['"two words"']],
    ["test_accuracy.max>=0.9 |", ["and", "or"]],
    ["not(sta|", ["state", "starred"]],
  ])("without blanks as with them: %s", (marked, expected) => {
    expect(proposals(marked)).toEqual(expected);
  });

  it.each([
    ["tag = 'two|", ['"two words"']],
    ["tag = 'two words' |", ["and", "or"]],
    ['tag = "and state = |', []],
    ['name = "it\\"s |', []],
    ["name ~ 'and' o|", ["or"]],
  ])("what stands in quotes is one value: %s", (marked, expected) => {
    expect(proposals(marked)).toEqual(expected);
  });

  it("puts what begins as typed before what only contains it", () => {
    expect(proposals("n|")).toEqual(["name", "not", "test_accuracy.min"]);
  });

  it("is nothing to choose from while the fields are not read yet", () => {
    expect(complete("sta", 3, []).proposals).toEqual([]);
    expect(complete("", 0, []).proposals.map(({ text }) => text)).toEqual(["not"]);
  });

  it("is never a list longer than a screen", () => {
    const values = Array.from({ length: 40 }, (_, i) => `tag-${i}`);
    const fields = FIELDS.map((field) => (field.name === "tag" ? { ...field, values } : field));
    expect(complete("tag = ", 6, fields).proposals).toHaveLength(12);
    expect(complete("tag = tag-39", 12, fields).proposals).toEqual([]);
    expect(complete("tag = g-39", 10, fields).proposals.map(({ text }) => text)).toEqual(["tag-39"]);
  });

  it("proposes times relative to now", () => {
    expect(proposals("created > |")).toContain("-7d");
  });
});

describe("a proposal that is taken", () => {
  it.each([
    ["st|", "state", "state |"],
    ["state |", "=", "state = |"],
    ["state =|", "running", "state = running |"],
    ["tag in (|", "paper", "tag in (paper |"],
    ["tag in (paper|", ")", "tag in (paper) |"],
    ["st| and starred", "state", "state |and starred"],
    ["st|ate = failed", "starred", "starred |= failed"],
    ["state = fa|iled and starred", "failed", "state = failed |and starred"],
    ["tag in (pa|per)", "paper", "tag in (paper |)"],
    ['tag = "two| words" and starred', '"two words"', 'tag = "two words" |and starred'],
    ['tag = "pa| and starred', "paper", "tag = paper |and starred"],
    ["|state = failed", "not", "not |state = failed"],
    ["state = | and starred", "failed", "state = failed |and starred"],
  ])("%s + %s", (marked, proposal, expected) => {
    const caret = marked.indexOf("|");
    const text = marked.replace("|", "");
    const from = proposal === ")" ? caret : complete(text, caret, FIELDS).from;
    const next = accept(text, caret, from, proposal);
    expect(`${next.text.slice(0, next.caret)}|${next.text.slice(next.caret)}`).toBe(expected);
  });
});

describe("a value", () => {
  it.each([
    ["paper", "paper"],
    ["digits-mlp", "digits-mlp"],
    ["0.98", "0.98"],
    ["two words", '"two words"'],
    ['say "x"', '"say \\"x\\""'],
    ["and", '"and"'],
    ["", '""'],
  ])("%s is written %s", (value, written) => {
    expect(quoted(value)).toBe(written);
  });
});
