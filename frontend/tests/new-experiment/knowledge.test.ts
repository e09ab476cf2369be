import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { knowledgeOf, schemaIn } from "@/features/new-experiment/knowledge";
import { propose } from "@/lib/yaml/propose";
import type { Shape } from "@/lib/yaml/shapes";
import { CATALOGUE, cluster, workload } from "../support/fixtures/catalogue";

/** The schema that the service serves. */
const API: unknown = JSON.parse(readFileSync(`${import.meta.dirname}/../../../api/openapi.json`, "utf8"));
const known = knowledgeOf(schemaIn(API) as Shape, {
  algorithms: CATALOGUE,
  workloads: [workload("digits-mlp"), workload("cifar-cnn")],
  clusters: [cluster("local"), cluster("rack", { online: false, cores: 64 })],
});

const BEGUN = `name: Two
workload:
  name: digits-mlp
variants:
  - name: A
    algorithm: sync-easgd
  - name: B
    algorithm: sync-sgd
`;

function proposals(text: string) {
  const caret = text.indexOf("|");
  return propose(text.replace("|", ""), caret, known);
}
const labels = (text: string) => (proposals(text)?.options ?? []).map(({ label }) => label);
const option = (text: string, label: string) => proposals(text)?.options.find((one) => one.label === label);

describe("keys", () => {
  it("of an experiment come from its schema: those it needs first, and none twice", () => {
    expect(labels("|").slice(0, 4)).toEqual(["name", "workload", "variants", "baseline"]);
    const more = labels(`${BEGUN}|`);
    expect(more).toEqual(expect.arrayContaining(["clusters", "budget", "target", "tuning", "sharding"]));
    expect(more).not.toContain("name");
    expect(more).not.toContain("variants");
  });

  it.each([
    ["clusters:\n  - name: a\n    |", ["workers", "seeds", "computed_on", "virtual"]],
    ["clusters:\n  - name: a\n    virtual: { |", ["latency", "seconds_per_byte", "like"]],
    ["budget:\n  |", ["samples", "max_seconds"]],
    [`${BEGUN}    communication:\n      |`, ["collective", "wire", "packing", "bucket_bytes"]],
    ["compute: { |", ["device", "precision", "threads", "placement"]],
  ])("%j: %s", (text, expected) => {
    expect(labels(text)).toEqual(expect.arrayContaining(expected));
  });

  it("of parameters are those of the variant's own method, with type, default and documentation", () => {
    expect(labels(BEGUN.replace("sync-easgd\n", "sync-easgd\n    parameters:\n      |\n"))).toEqual([
      "lr",
      "rho",
    ]);
    expect(labels(`${BEGUN}    parameters: { |`)).toEqual(["lr"]);
    expect(option(BEGUN.replace("sync-easgd\n", "sync-easgd\n    parameters: { |\n"), "rho")).toMatchObject({
      insert: "rho: ",
      detail: "number · default 0.05",
      about: "Pull to the center.",
    });
    expect(labels("variants:\n  - algorithm: unknown\n    parameters: { |")).toEqual([]);
  });

  it("of search spaces and sweeps are the same parameters", () => {
    const own = (key: string) => BEGUN.replace("sync-easgd\n", `sync-easgd\n    ${key}\n`);
    expect(labels(own("search: { |"))).toEqual(["lr", "rho"]);
    expect(labels(own("search: { rho: { |"))).toEqual(
      expect.arrayContaining(["low", "high", "scale", "choices"]),
    );
    expect(labels(own("search: { rho: { scale: |"))).toEqual(["linear", "log", "reverse-log"]);
    expect(option(own("sweep: { |"), "lr")).toMatchObject({ insert: "lr: []", back: 1 });
  });

  it("of the workload are its parameters", () => {
    expect(labels("workload: { name: digits-mlp, parameters: { |")).toEqual(["hidden"]);
    expect(labels(`${BEGUN}    workload_settings: { |`)).toEqual(["hidden"]);
  });
});

describe("values", () => {
  it.each([
    ["workload:\n  name: |", ["digits-mlp", "cifar-cnn"]],
    ["clusters:\n  - name: |", ["local", "rack"]],
    ["clusters:\n  - computed_on: |", ["local", "rack"]],
    ["clusters:\n  - virtual: { like: |", ["local", "rack"]],
    [`${BEGUN}baseline: |`, ["A", "B"]],
    ["sharding: |", ["iid", "disjoint", "dispatched"]],
    ["sharding:\n  |", ["iid", "disjoint", "dispatched"]],
    ["clusters:\n  - name: a\n    workers: [|", ["auto"]],
    ["clusters:\n  - name: a\n    workers:\n      - |", ["auto"]],
    ["trace: |", ["false", "true"]],
    ["clusters:\n  - name: lab\ntuning:\n  cluster: |", ["lab"]],
  ])("%j: %s", (text, expected) => {
    expect(labels(text).sort()).toEqual([...expected].sort());
  });

  it("of methods are those of the catalogue, by their titles", () => {
    expect(option("variants:\n  - algorithm: |", "diloco")).toMatchObject({
      about: "DiLoCo",
      detail: "Local steps",
    });
  });

  it("that are usual say so", () => {
    expect(option("batch: |", "32")).toMatchObject({ insert: "32", detail: "default" });
    expect(option(`${BEGUN}    parameters: { lr: |`, "0.2")?.detail).toBe("default");
    expect(option("checkpoint_every: |", "null")?.detail).toBe("empty");
  });

  it("are written so that YAML reads them", () => {
    const odd = "variants:\n  - name: 'A: b, c'\nbaseline: |";
    expect(option(odd, '"A: b, c"')?.insert).toBe('"A: b, c"');
    expect(proposals('variants:\n  - name: Sync SGD\nbaseline: "Sy|')?.options[0]?.insert).toBe('"Sync SGD"');
  });
});

describe("what is put in", () => {
  it("opens what follows, by its indentation", () => {
    expect(option("|", "workload")).toMatchObject({ insert: "workload:\n  ", more: true });
    expect(option("|", "variants")?.insert).toBe("variants:\n  - ");
    expect(option("|", "batch")).toMatchObject({ insert: "batch: ", back: 0 });
    expect(option(`${BEGUN}    |`, "parameters")?.insert).toBe("parameters:\n      ");
    expect(option("clusters:\n  - { na|", "virtual")).toMatchObject({ insert: "virtual: {  }", back: 2 });
    expect(option("variants:\n  |", "- name")?.insert).toBe("- name: ");
  });

  it("is the key alone where its colon stands already", () => {
    expect(option("ba|: 32", "batch")?.insert).toBe("batch");
  });
});

it("a document without the schema of an experiment completes nothing", () => {
  expect(schemaIn({})).toBeUndefined();
  expect(schemaIn(undefined)).toBeUndefined();
});
