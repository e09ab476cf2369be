import { describe, expect, it } from "vitest";
import { newExperimentSearch } from "@/features/new-experiment/search";
import {
  choicesFrom,
  choicesText,
  compact,
  firstSpace,
  free,
  searchable,
  searchedParameters,
  tunes,
  withoutTuning,
  withSpace,
  withTuning,
  withWider,
} from "@/features/new-experiment/searched";
import { fieldsFromSchema } from "@/lib/json/fields-from-schema";
import { SEARCHED } from "../support/fixtures/tuning";

const LR = { low: 0.01, high: 0.1, scale: "log" } as const;
const draft = (search?: object) => ({
  tuning: { trials: 4 },
  variants: [
    { name: "A", algorithm: "sync-easgd", ...(search ? { search } : {}) },
    { name: "B", algorithm: "sync-sgd" },
  ],
});
const states = (variant: unknown) =>
  Object.fromEntries(searchedParameters(variant, SEARCHED).map(({ name, state }) => [name, state]));

describe("what becomes of a parameter", () => {
  it.each([
    ["is what the algorithm declares", {}, { lr: "searched", kind: "searched", overlap: "searched" }],
    [
      "is a value where one is given",
      { parameters: { lr: 0.2 } },
      { lr: "given", kind: "searched", overlap: "searched" },
    ],
    [
      "is its default where the space is dropped",
      { search: { lr: null } },
      { lr: "default", kind: "searched", overlap: "searched" },
    ],
    [
      "is the variant's own space",
      { search: { lr: LR, rho: LR } },
      { lr: "own", rho: "own", kind: "searched", overlap: "searched" },
    ],
    [
      "is the value where both are given: the server refuses that",
      { parameters: { lr: 0.2 }, search: { lr: LR } },
      { lr: "given", kind: "searched", overlap: "searched" },
    ],
    [
      "is told of names that nobody declares",
      { search: { none: LR } },
      { lr: "searched", kind: "searched", overlap: "searched", none: "own" },
    ],
  ])("%s", (_, variant, expected) => {
    expect(states(variant)).toEqual(expected);
  });

  it.each([
    ["does not hold for the default of the other parameter", {}, []],
    ["holds for its value", { parameters: { optimizer: "adamw" } }, ["decay"]],
    [
      "may hold because it is searched",
      { search: { optimizer: { choices: ["sgd"] } } },
      ["optimizer", "decay"],
    ],
    ["does not hold, but the variant asks for the space", { search: { decay: LR } }, ["decay"]],
  ])("is searched only where its condition may hold: it %s", (_, variant, expected) => {
    const fields = {
      optimizer: { enum: ["sgd", "adamw"], default: "sgd" },
      decay: { type: "number", default: 0 },
    };
    const parameters = { type: "object", properties: fields };
    const search = { decay: { low: 0, high: 1, when: { optimizer: ["adamw"] } } };
    const found = searchedParameters(variant, { ...SEARCHED, parameters, search });
    expect(found.map(({ name }) => name)).toEqual(expected);
  });

  it.each([
    ["its default", {}, []],
    ["a given value", { parameters: { momentum: 0 } }, []],
    ["no other value", { parameters: { momentum: 0.5 } }, ["kind"]],
    ["not all values that are searched", { search: { momentum: LR } }, ["momentum", "kind"]],
  ])("is not searched where it has no effect: at %s of the other parameter", (_, variant, expected) => {
    const fields = {
      momentum: { type: "number", default: 0 },
      kind: { enum: ["heavy-ball", "nesterov"], default: "heavy-ball" },
    };
    const parameters = { type: "object", properties: fields };
    const search = { kind: { choices: ["heavy-ball", "nesterov"], unless: { momentum: [0] } } };
    const found = searchedParameters(variant, { ...SEARCHED, parameters, search });
    const searched = found.filter(({ state }) => state !== "given").map(({ name }) => name);
    expect(searched).toEqual(expected);
  });

  it("keeps the order of the form, its titles and defaults", () => {
    const found = searchedParameters({ search: { rho: LR, lr: null } }, SEARCHED);
    expect(found.map(({ name, title }) => [name, title])).toEqual([
      ["lr", "Learning rate"],
      ["rho", "Elasticity"],
      ["kind", "Kind of momentum"],
      ["overlap", "Overlap"],
    ]);
    expect(found[0]).toMatchObject({ value: 0.1, declared: true, mentioned: true });
    expect(found[1]).toMatchObject({ space: LR, declared: false, mentioned: true });
    expect(found[2]).toMatchObject({ space: SEARCHED.search.kind, mentioned: false });
  });

  it("is free unless it keeps its default, and can be searched if it is not", () => {
    const variant = { parameters: { lr: 1 }, search: { kind: null, rho: LR } };
    expect([...free(variant, SEARCHED)]).toEqual(["lr", "rho", "overlap"]);
    expect(searchable(variant, SEARCHED).map(({ name }) => name)).toEqual(["period"]);
    expect(searchable({}, SEARCHED).map(({ name }) => name)).toEqual(["rho", "period"]);
  });
});

describe("a first space", () => {
  const fields = fieldsFromSchema({
    properties: {
      rate: { type: "number", default: 0.5, exclusiveMinimum: 0, maximum: 2 },
      momentum: { type: "number", default: 0, minimum: 0, exclusiveMaximum: 1 },
      factor: { type: "number", default: 0.9, exclusiveMaximum: 1 },
      period: { type: "integer", default: 4, minimum: 1 },
      mode: { enum: ["serial", "ordered"], default: "serial" },
      overlap: { type: "boolean", default: false },
      note: { type: "string", default: "x" },
      any: { type: "string" },
    },
  });
  const spaces = Object.fromEntries(fields.map((field) => [field.name, firstSpace(field)]));

  it.each([
    ["rate", { low: 0.05, high: 2, scale: "log" }],
    ["momentum", { low: 0, high: 0.99 }],
    ["factor", { low: 0.09, high: 0.99, scale: "log" }],
    ["period", { low: 1, high: 40, scale: "log", integer: true }],
    ["mode", { choices: ["serial", "ordered"] }],
    ["overlap", { choices: [false, true] }],
    ["note", { choices: ["x"] }],
    ["any", { choices: [null] }],
  ])("of %s lies around its default and within its bounds", (name, expected) => {
    expect(spaces[name]).toEqual(expected);
  });
});

describe("choices", () => {
  it("are read as people type them", () => {
    expect(choicesFrom("1, 2.5,heavy , true, false,empty,,-3e-2")).toEqual([
      1,
      2.5,
      "heavy",
      true,
      false,
      null,
      -0.03,
    ]);
    expect(choicesFrom(" ")).toEqual([]);
  });

  it("are written as they are read", () => {
    const choices = [1, "a", true, null];
    expect(choicesFrom(choicesText(choices))).toEqual(choices);
    expect(choicesText(undefined)).toBe("");
  });
});

describe("the document", () => {
  it("has a space without what says nothing", () => {
    const full = { low: 1, high: 2, scale: "linear", integer: false, choices: null, when: {} } as const;
    expect(compact(full)).toEqual({ low: 1, high: 2 });
    const conditions = { when: { a: [1] }, unless: { b: [0] } };
    expect(compact({ ...full, unless: {} })).toEqual({ low: 1, high: 2 });
    expect(compact({ ...full, scale: "log", integer: true, ...conditions })).toEqual({
      low: 1,
      high: 2,
      scale: "log",
      integer: true,
      ...conditions,
    });
    expect(compact({ low: null, high: null, scale: "log", choices: [1] })).toEqual({ choices: [1] });
  });

  it("has `search` only where something is said of it", () => {
    const one = withSpace(draft(), 0, "lr", LR);
    expect(one).toEqual(draft({ lr: LR }));
    expect(withSpace(one, 0, "rho", null)).toEqual(draft({ lr: LR, rho: null }));
    expect(withSpace(one, 0, "lr", undefined)).toEqual(draft());
  });

  it("loses and regains its spaces with tuning", () => {
    const before = draft({ lr: LR });
    const without = withoutTuning(before);
    expect(without).toEqual({
      variants: [
        { name: "A", algorithm: "sync-easgd" },
        { name: "B", algorithm: "sync-sgd" },
      ],
    });
    expect([tunes(before), tunes(without), tunes({ tuning: null })]).toEqual([true, false, false]);
    expect(withTuning(without, before)).toEqual(before);
    expect(withTuning(without, undefined)).toEqual({ ...without, tuning: {} });
  });

  it("regains no spaces of another method", () => {
    const now = { variants: [{ name: "A", algorithm: "diloco" }] };
    expect(withTuning(now, draft({ lr: LR }))).toEqual({ ...now, tuning: { trials: 4 } });
  });

  it("gets wider spaces for the variant of a name, and no other", () => {
    const wider = {
      lr: { low: 0.01, high: 1, scale: "log", integer: false, choices: null, when: {} },
    } as const;
    const expected = draft({ lr: { low: 0.01, high: 1, scale: "log" }, rho: null });
    expect(withWider(draft({ lr: LR, rho: null }), "A", wider)).toEqual(expected);
    expect(withWider(draft(), "gone", wider)).toEqual(draft());
  });
});

describe("the address of the form", () => {
  it.each<[unknown, boolean]>([
    [[{ variant: "A", spaces: { lr: LR } }], true],
    [[{ variant: "A", spaces: {} }], true],
    [[{ variant: 3, spaces: {} }], false],
    [[{ variant: "A", spaces: [LR] }], false],
    [[{ variant: "A", spaces: { lr: 3 } }], false],
    [[], false],
    [{ variant: "A", spaces: {} }, false],
    ["A", false],
    [undefined, false],
  ])("may carry %o as wider spaces: %s", (wider, accepted) => {
    expect(newExperimentSearch({ clone: "exp_7", wider }).wider).toEqual(accepted ? wider : undefined);
  });
});
