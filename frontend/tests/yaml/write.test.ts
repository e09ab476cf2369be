import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { yamlOf } from "@/lib/yaml/write";

const EXAMPLES = `${import.meta.dirname}/../../../examples`;
const FILES = readdirSync(EXAMPLES).filter((name) => name.endsWith(".yaml"));

describe("a document as YAML", () => {
  it.each(FILES)("says what %s says", (file) => {
    const document: unknown = parse(readFileSync(`${EXAMPLES}/${file}`, "utf8"));
    expect(parse(yamlOf(document))).toEqual(document);
  });

  it("has one line for what is short in a list, and one for each variant's part", () => {
    expect(
      yamlOf({
        name: "Two",
        workload: { name: "digits-mlp", parameters: {} },
        variants: [{ name: "A: b", algorithm: "sync-sgd", parameters: { lr: 0.1, rho: null } }],
        clusters: [{ name: "local", workers: ["auto", 4], seeds: 3 }],
        budget: { samples: 120_000 },
      }),
    ).toBe(`name: Two
workload:
  name: digits-mlp
  parameters: {}
variants:
  - name: "A: b"
    algorithm: sync-sgd
    parameters: { lr: 0.1, rho: null }
clusters:
  - name: local
    workers: [ auto, 4 ]
    seeds: 3
budget:
  samples: 120000
`);
  });

  it("folds no long text, and breaks long mappings", () => {
    const long = "words ".repeat(60).trim();
    expect(yamlOf({ description: long }).trimEnd().split("\n")).toHaveLength(1);
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`parameter_${i}`, i]));
    expect(yamlOf({ variants: [{ parameters: many }] }).split("\n").length).toBeGreaterThan(12);
  });

  it("keeps texts that look like something else", () => {
    const odd = { a: "true", b: "1e3", c: "null", d: "", e: "- x", f: "#1", g: "a\nb\n", h: " x " };
    expect(parse(yamlOf(odd))).toEqual(odd);
  });
});
