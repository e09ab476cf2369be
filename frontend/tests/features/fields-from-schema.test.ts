import { expect, it } from "vitest";
import { fieldsFromSchema, describe as told } from "@/lib/json/fields-from-schema";

const SCHEMA = {
  type: "object",
  properties: {
    lr: {
      type: "number",
      title: "Learning rate",
      description: "Step length.",
      default: 0.05,
      exclusiveMinimum: 0,
      maximum: 10,
    },
    period: { type: "integer", title: "Period", default: 1, minimum: 1 },
    overlap: { type: "boolean", default: false },
    mode: { type: "string", enum: ["serial", "ordered"], default: "ordered" },
    only: { const: "heavyball", default: "heavyball" },
    limit: { anyOf: [{ type: "number", minimum: 0 }, { type: "null" }], title: "Limit", default: null },
    kind: { $ref: "#/$defs/Kind", default: "a" },
    note: { type: "string" },
    shares: { type: "array", items: { type: "number" }, default: [0.5] },
    sizes: { type: "array", items: { type: "integer", minimum: 1 }, default: [1] },
    threads: { anyOf: [{ type: "integer" }, { const: "group", type: "string" }], default: 1 },
  },
  $defs: { Kind: { enum: ["a", "b"], title: "Kind" } },
};

it("makes one control per property, in order", () => {
  const fields = fieldsFromSchema(SCHEMA);
  expect(fields.map(({ name, kind }) => [name, kind])).toEqual([
    ["lr", "number"],
    ["period", "integer"],
    ["overlap", "boolean"],
    ["mode", "choice"],
    ["only", "choice"],
    ["limit", "number"],
    ["kind", "choice"],
    ["note", "text"],
    ["shares", "numbers"],
    ["sizes", "numbers"],
    ["threads", "mixed"],
  ]);
});

it("carries title, description, default, bounds and choices", () => {
  const [lr, period, overlap, mode, only, limit, kind] = fieldsFromSchema(SCHEMA);
  expect(lr).toMatchObject({
    title: "Learning rate",
    description: "Step length.",
    default: 0.05,
    bounds: ">\u00a00, at most 10",
  });
  expect(period?.bounds).toBe("at least 1");
  expect(overlap?.title).toBe("overlap");
  expect(mode?.choices).toEqual(["serial", "ordered"]);
  expect(only?.choices).toEqual(["heavyball"]);
  expect(limit).toMatchObject({ title: "Limit", bounds: "at least 0", default: null });
  expect(kind).toMatchObject({ title: "Kind", choices: ["a", "b"] });
});

it("says in a line what a field takes, and what leaving it empty means", () => {
  const schema = {
    properties: {
      alpha: {
        anyOf: [{ type: "number", minimum: 0, maximum: 2 }, { type: "null" }],
        description: "Overrides rho.",
      },
      beta: { anyOf: [{ type: "number", minimum: 0 }, { type: "null" }], description: "a = beta / P." },
      every: {
        anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }],
        description: "Samples; empty: none.",
      },
      lr: { type: "number", description: "Step length.", exclusiveMinimum: 0 },
    },
  };
  expect(fieldsFromSchema(schema).map(told)).toEqual([
    "Optional, 0 to 2; overrides rho",
    "Optional, at least 0; a = beta / P",
    "Samples; empty: none; at least 1",
    "Step length; >\u00a00",
  ]);
});

it("knows where an empty field is null", () => {
  const nullable = fieldsFromSchema(SCHEMA).filter((field) => field.nullable);
  expect(nullable.map((field) => field.name)).toEqual(["limit"]);
});

it("has no fields for what is no object schema", () => {
  for (const odd of [undefined, null, 3, [], {}, { properties: 1 }])
    expect(fieldsFromSchema(odd)).toEqual([]);
});
