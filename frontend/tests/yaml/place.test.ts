import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isMap, isScalar, isSeq, parseDocument, type Scalar } from "yaml";
import { placeAt } from "@/lib/yaml/place";

const EXAMPLES = `${import.meta.dirname}/../../../examples`;
const FILES = readdirSync(EXAMPLES).filter((name) => name.endsWith(".yaml"));

interface Found {
  readonly path: (string | number)[];
  readonly node: Scalar;
  readonly at: "key" | "value" | "member";
}

/** Every key and every scalar of a document, as the parser of YAML finds them. */
function scalars(node: unknown, path: (string | number)[] = [], inBlock = false): Found[] {
  if (isScalar(node)) {
    const [start, end] = node.range ?? [0, 0];
    return end > start ? [{ path, node, at: inBlock ? "member" : "value" }] : [];
  }
  if (isSeq(node)) return node.items.flatMap((item, i) => scalars(item, [...path, i], !node.flow));
  if (!isMap(node)) return [];
  return node.items.flatMap(({ key, value }) => [
    { path, node: key as Scalar, at: "key" as const },
    ...scalars(value, [...path, String((key as Scalar).value)]),
  ]);
}

describe.each(FILES)("every place of %s", (file) => {
  const text = readFileSync(`${EXAMPLES}/${file}`, "utf8");
  const all = scalars(parseDocument(text).contents);

  it("is found where the parser finds it, though the text ends at the caret", () => {
    expect(all.length).toBeGreaterThan(10);
    for (const { path, node, at } of all) {
      const start = node.range?.[0] ?? 0;
      const caret = start + 1;
      const found = placeAt(text.slice(0, caret), caret);
      const told = `${file}, ${start}: ${text.slice(start, start + 20)}`;
      if (node.type?.startsWith("BLOCK")) continue; // its first letter only opens it
      expect(found?.from, told).toBe(start);
      expect(found?.path, told).toEqual(path);
      expect(found?.at, told).toBe(at === "member" ? "key" : at);
    }
  });

  it("is the same with all that follows", () => {
    for (const { node } of all) {
      const caret = (node.range?.[0] ?? 0) + 1;
      expect(placeAt(text, caret)).toEqual(placeAt(text.slice(0, caret), caret));
    }
  });
});

/** The place of | in a text. */
const at = (text: string) => placeAt(text.replace("|", ""), text.indexOf("|"));
const LIST = "variants:\n  - name: A\n    algorithm: sync-sgd\n";

describe("what is not there yet", () => {
  it.each<[string, (string | number)[], "key" | "value"]>([
    ["|", [], "key"],
    ["na|", [], "key"],
    ["name: |", ["name"], "value"],
    ["name: Sync E|", ["name"], "value"],
    ["workload:\n  |", ["workload"], "key"],
    ["workload:\n  name: x\n|", [], "key"],
    ["workload:\n  name: x\n  |", ["workload"], "key"],
    ["target:\n  metric: |", ["target", "metric"], "value"],
    ["variants:\n  |", ["variants"], "key"],
    ["variants:\n  - |", ["variants", 0], "key"],
    [`${LIST}    |`, ["variants", 0], "key"],
    [`${LIST}    parameters:\n      |`, ["variants", 0, "parameters"], "key"],
    [`${LIST}    parameters:\n      lr: 0.1\n      |`, ["variants", 0, "parameters"], "key"],
    [`${LIST}    parameters: { |`, ["variants", 0, "parameters"], "key"],
    [`${LIST}    parameters: { lr: 0.1, r|`, ["variants", 0, "parameters"], "key"],
    [`${LIST}    parameters: { lr: |`, ["variants", 0, "parameters", "lr"], "value"],
    [
      `${LIST}    parameters: {\n      lr: 0.1, # a note, with a comma\n      |`,
      ["variants", 0, "parameters"],
      "key",
    ],
    [`${LIST}  - |`, ["variants", 1], "key"],
    [`${LIST}  - { name: B, al|`, ["variants", 1], "key"],
    [`${LIST}|`, [], "key"],
    ["clusters:\n- name: a\n- |", ["clusters", 1], "key"],
    ["clusters:\n- name: a\n|", [], "key"],
    ["clusters:\n- name: a\n  workers: [2, |", ["clusters", 0, "workers", 1], "value"],
    ["clusters: [{ name: a, workers: [1], |", ["clusters", 0], "key"],
    ['variants: [{ name: "a # b, {", al|', ["variants", 0], "key"],
    ['"na#me": 1\nbudget:\n  |', ["budget"], "key"],
    ["description: |\n", ["description"], "value"],
    ["description: >-\n  words: here\nba|", [], "key"],
    ["description: 'it''s: #1'\n|", [], "key"],
  ])("%j", (text, path, kind) => {
    expect(at(text)).toMatchObject({ path, at: kind });
  });

  it.each([
    "# a comm|",
    "name: x # a comm|",
    "description: >-\n  words: he|",
    "description: >-\n  words\n\n  |",
    "variants:\n  -|",
    "name:|",
    "parameters: { lr: 0.1 } |",
    "parameters: { lr: 0.1, # a comm|",
    "workers: [\n  1,\n  2\n] |",
  ])("nothing is proposed in %j", (text) => {
    expect(at(text)).toBeUndefined();
  });

  it("keeps the column of the keys, by which what follows is indented", () => {
    expect(at(`${LIST}    pa|`)?.indent).toBe(4);
    expect(at("  - na|")?.indent).toBe(4);
    expect(at("workload: { na|")).toMatchObject({ flow: true, indent: 0 });
  });

  it("takes long texts in its stride", () => {
    const variant = (i: number) =>
      `  - name: Variant ${i}\n    algorithm: sync-sgd\n    parameters: { lr: 0.${i} }\n`;
    const long = `variants:\n${Array.from({ length: 2000 }, (_, i) => variant(i)).join("")}    `;
    const took = Array.from({ length: 5 }, () => {
      const before = performance.now();
      expect(placeAt(long, long.length)?.path).toEqual(["variants", 1999]);
      return performance.now() - before;
    });
    expect(Math.min(...took)).toBeLessThan(200); // the machine may take a rest, not in each of five
  });
});
