import { describe, expect, it } from "vitest";
import { propertiesOf, shapeOf, shapesAt, valuesOf, writingOf } from "@/lib/yaml/shapes";
import { aboutText, defaultText, kindText, scalarText } from "@/lib/yaml/words";

const ROOT = shapeOf({
  type: "object",
  required: ["budget"],
  properties: {
    sharding: { enum: ["iid", "disjoint"], default: "iid", type: "string" },
    budget: { $ref: "#/$defs/Budget" },
    retry: { anyOf: [{ $ref: "#/$defs/Budget" }, { type: "null" }], title: "Retry" },
    trace: { type: "boolean", default: false, description: "Record phases; costs 20 us. More follows." },
    workers: {
      type: "array",
      items: { anyOf: [{ type: "integer" }, { const: "auto", type: "string" }] },
      default: ["auto"],
    },
    variants: { type: "array", items: { $ref: "#/$defs/Variant" } },
    first_seed: { type: "integer", title: "First Seed", default: 0 },
    loop: { $ref: "#/$defs/Loop" },
  },
  $defs: {
    Budget: {
      type: "object",
      description: "Limits of a run.",
      properties: { samples: { type: "integer", minimum: 1, maximum: 10 } },
    },
    Variant: {
      type: "object",
      description: "One algorithm.",
      properties: { search: { type: "object", additionalProperties: { $ref: "#/$defs/Budget" } } },
    },
    Loop: { $ref: "#/$defs/Loop" },
  },
});
const at = (...path: (string | number)[]) => shapesAt(ROOT, path);
const one = (...path: (string | number)[]) => at(...path)[0] as NonNullable<ReturnType<typeof at>[0]>;

describe("a place of a schema", () => {
  it("is found through references, alternatives, lists and free keys", () => {
    for (const path of [["budget"], ["retry"], ["variants", 3, "search", "any"]] as const)
      expect(propertiesOf(at(...path)).map(({ name }) => name)).toEqual(["samples"]);
    expect(at("nothing", "here")).toEqual([]);
    expect(propertiesOf(at("loop"))).toEqual([]);
  });

  it("may have another shape, given from outside, and so what is below it", () => {
    const own = shapeOf({ type: "object", properties: { lr: { type: "number" } } });
    const instead = (path: readonly (string | number)[]) =>
      path.join("/") === "variants/0/x" ? own : undefined;
    expect(shapesAt(ROOT, ["variants", 0, "x", "lr"], instead)[0]?.schema).toEqual({ type: "number" });
    expect(shapesAt(ROOT, ["variants", 1, "x", "lr"], instead)).toEqual([]);
  });

  it("lists its keys, the required ones first", () => {
    expect(propertiesOf([ROOT]).map(({ name, required }) => (required ? `${name}!` : name))).toEqual([
      "budget!",
      "sharding",
      "retry",
      "trace",
      "workers",
      "variants",
      "first_seed",
      "loop",
    ]);
  });

  it("says what is written there, and which values it names", () => {
    expect(["sharding", "budget", "retry", "workers", "variants"].map((key) => writingOf(one(key)))).toEqual([
      "scalar",
      "mapping",
      "mapping",
      "list",
      "list of mappings",
    ]);
    expect(valuesOf(at("sharding"))).toEqual(["iid", "disjoint"]);
    expect(valuesOf(at("trace"))).toEqual([true, false]);
    expect(valuesOf(at("workers", 0))).toEqual(["auto"]);
    expect(valuesOf(at("retry"))).toEqual([null]);
  });
});

describe("in words", () => {
  it.each([
    ["sharding", "iid or disjoint", "default iid", ""],
    ["budget", "mapping", "", "Limits of a run."],
    ["retry", "mapping", "optional", "Limits of a run."],
    ["trace", "true or false", "default false", "Record phases."],
    ["workers", "list", "default [auto]", ""],
    ["variants", "list of mappings", "", "One algorithm."],
    ["first_seed", "integer", "default 0", ""],
  ])("%s is: %s, %s, %s", (key, kind, usual, about) => {
    expect([kindText(one(key)), defaultText(one(key), false), aboutText(one(key), key)]).toEqual([
      kind,
      usual,
      about,
    ]);
  });

  it("bounds stand with the type, and required outranks a default", () => {
    expect(kindText(one("budget", "samples"))).toBe("integer, 1 to 10");
    expect(defaultText(one("sharding"), true)).toBe("required");
  });

  it.each([
    ["plain words", false, "plain words"],
    ["a: b", false, '"a: b"'],
    ["true", false, '"true"'],
    ["a, b", false, "a, b"],
    ["a, b", true, '"a, b"'],
    [true, true, "true"],
    [null, false, "null"],
    [1e-7, false, "1e-7"],
  ] as const)("%j, in brackets: %s, is written %s", (value, flow, text) => {
    expect(scalarText(value, flow)).toBe(text);
    expect(scalarText("Sync", false, true)).toBe('"Sync"');
  });
});
