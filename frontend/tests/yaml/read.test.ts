import { describe, expect, it } from "vitest";
import { readLoosely, readYaml } from "@/lib/yaml/read";

const TEXT = `# what it is for
name: Two
variants:
  - name: A
    parameters: { lr: 0.1, rho: -1 }
  - { name: B }
target:
empty: {}
shared: &it { x: 1 }
again: *it
`;
const read = readYaml(TEXT);
const marked = (pointer: string) => {
  const { from, to } = read.spanOf(pointer);
  return TEXT.slice(from, to);
};

describe("the place of a fault", () => {
  it.each([
    ["/name", "Two"],
    ["/variants/0/name", "A"],
    ["/variants/0/parameters/rho", "-1"],
    ["/variants", "variants"], // of a block its key: not all of it
    ["/variants/0/parameters", "parameters"],
    ["/variants/1", "{ name: B }"],
    ["/target", "target"],
    ["/empty", "empty"],
    ["/again/x", "1"],
  ])("%s is “%s”", (pointer, text) => {
    expect(marked(pointer)).toBe(text);
  });

  it.each([
    ["/variants/0/algorithm", "name: A"], // it is missing: the item that lacks it, on its line
    ["/variants/7/name", "variants"],
    ["/name/deeper", "Two"],
  ])("%s that is not there is that of what is around it", (pointer, text) => {
    expect(marked(pointer)).toBe(text);
  });

  it("has the number of its line, comments counted", () => {
    expect(read.lineOf(read.spanOf("/variants/0/parameters/rho").from)).toBe(5);
    expect(read.lineOf(read.spanOf("/name").from)).toBe(2);
    expect(read.lineOf(0)).toBe(1);
  });

  it("is found for keys with the letters of pointers", () => {
    const odd = "a/b:\n  c~d: 5\n";
    const { from, to } = readYaml(odd).spanOf("/a~1b/c~0d");
    expect(odd.slice(from, to)).toBe("5");
  });

  it("of an empty text is its beginning", () => {
    expect(readYaml("").spanOf("/name")).toEqual({ from: 0, to: 0 });
  });
});

describe("text", () => {
  it("says what it says, by YAML 1.2: on and yes are words, 1e-5 is a number", () => {
    expect(readYaml("{ a: yes, on: 1e-5, b: 010, c: ~ }").value).toEqual({
      a: "yes",
      on: 1e-5,
      b: 10,
      c: null,
    });
  });

  it.each([
    ["a: [1, 2\nb: 3", "line 2"],
    ["a: 1\na: 2", "line 2"],
    ["a: b: c", "line 1"],
    ["a: 1\n  b: 2", "line"],
    ["---\na: 1\n---\nb: 2", "line 3"],
  ])("that is no YAML, %j, says where", (text, where) => {
    const { value, errors } = readYaml(text);
    expect(value).toBeUndefined();
    expect(errors[0]?.where).toContain(where);
    expect(errors[0]?.message).not.toContain("\n"); // no picture of the line
  });

  it("that would unfold without end is refused", () => {
    const lines = ["a0: &a0 [x, x]"];
    for (let i = 1; i < 12; i += 1) lines.push(`a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}1]`);
    const { value, errors } = readYaml(lines.join("\n"));
    expect(value).toBeUndefined();
    expect(errors[0]?.message).toMatch(/alias/i);
  });

  it("that is unfinished still says what it can", () => {
    expect(readLoosely("variants:\n  - algorithm: sync-sgd\n    par")).toMatchObject({
      variants: [{ algorithm: "sync-sgd" }],
    });
    expect(readLoosely("a: { b: 1, ")).toEqual({ a: { b: 1 } });
    expect(readLoosely("a: 1\na: 2")).toEqual({ a: 2 });
  });
});
