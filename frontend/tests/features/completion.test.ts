import { describe, expect, it } from "vitest";
import { accept, complete } from "@/features/experiments/completion";
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
