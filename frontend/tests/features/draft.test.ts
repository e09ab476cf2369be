import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { withNamedBaseline, withPlacedBaseline } from "@/features/new-experiment/baseline";
import {
  draftFrom,
  emptyDraft,
  freeName,
  variantNames,
  withCopy,
  withoutVariant,
  withVirtualCluster,
  workersFrom,
  workersText,
} from "@/features/new-experiment/draft";
import { EXAMPLES, placed } from "@/features/new-experiment/examples";
import { PRESETS } from "@/lib/format/networks";
import { type Json, withValue } from "@/lib/json/document";
import { numberText, parseNumber } from "@/lib/json/parse-number";
import { algorithm, workload } from "../support/fixtures/catalogue";

const DRAFT = { baseline: "A", variants: [{ name: "A" }, { name: "B" }], clusters: [{ name: "local" }] };

describe("variants", () => {
  it("are copied beside the original, under a free name", () => {
    expect(variantNames(withCopy(DRAFT, 0))).toEqual(["A", "A 2", "B"]);
    expect(freeName("A", ["A", "A 2"])).toBe("A 3");
  });

  it("keep the baseline wherever others come or go, and hand it on when it is removed", () => {
    const draft = withPlacedBaseline({ ...DRAFT, baseline: "B" });
    const baseline = (changed: Json) => withNamedBaseline(changed).baseline;
    expect(baseline(withCopy(draft, 0))).toBe("B");
    expect(baseline(withCopy(draft, 1))).toBe("B");
    expect(baseline(withoutVariant(draft, 0))).toBe("B");
    expect(baseline(withoutVariant(draft, 1))).toBe("A");
  });

  it("do not become the baseline by passing through its name", () => {
    let draft = withCopy(withPlacedBaseline(DRAFT), 0);
    for (const name of ["A 2", "A ", "A", "AX", "Another"]) {
      draft = withValue(draft, ["variants", 1, "name"], name);
    }
    expect(withNamedBaseline(draft)).toMatchObject({
      baseline: "A",
      variants: [{ name: "A" }, { name: "Another" }, {}],
    });
  });

  it("leave a baseline that is none of them for the server to refuse", () => {
    const strange = { ...DRAFT, baseline: "C" };
    expect(withNamedBaseline(withPlacedBaseline(strange))).toEqual(strange);
    expect(withNamedBaseline(withPlacedBaseline(DRAFT))).toEqual(DRAFT);
  });
});

describe("clusters", () => {
  it("have presets, none of which speaks for the paper", () => {
    expect(PRESETS.map((preset) => preset.key)).toContain("10gbe");
    expect(PRESETS.filter((preset) => preset.label.includes("paper"))).toEqual([]);
    const [preset] = PRESETS;
    expect(withVirtualCluster(DRAFT, preset, "local").clusters).toContainEqual({
      name: "10gbe",
      computed_on: "local",
      workers: [8],
      seeds: 5,
      virtual: { latency: 7.2e-6, seconds_per_byte: 0.9e-9 },
    });
  });

  it("read workers as typed, and leave nonsense for the server to refuse", () => {
    expect(workersFrom("auto")).toEqual(["auto"]);
    expect(workersFrom("2, 4  8")).toEqual([2, 4, 8]);
    expect(workersFrom("two, -1")).toEqual(["two", "-1"]);
    expect(workersFrom("")).toEqual([]);
    expect(workersText([2, "auto"])).toBe("2, auto");
  });
});

describe("JSON", () => {
  it("becomes a draft, or says why it cannot", () => {
    expect(draftFrom('{"name": "x"}')).toEqual({ draft: { name: "x" } });
    expect(draftFrom('{"clusters": [{"name": "sim", "on": "local"}]}')).toEqual({
      draft: { clusters: [{ name: "sim", computed_on: "local" }] },
    });
    for (const text of ["{", "3", "[]", '{"variants": {}}', '{"clusters": [1]}']) {
      expect(draftFrom(text)).toHaveProperty("problem");
    }
  });
});

describe("numbers", () => {
  it("are read as people type them", () => {
    expect(["7.2e-6", " 120 000 ", "1_000", "-3", ".5"].map(parseNumber)).toEqual([
      7.2e-6, 120_000, 1000, -3, 0.5,
    ]);
    expect(parseNumber("")).toBeUndefined();
    expect(parseNumber("fast")).toBeNaN();
    expect(["4 16 64", "4\t16", "1 0", "12 3456"].map(parseNumber)).toEqual(Array(4).fill(Number.NaN)); // several numbers
  });

  it("are written with an exponent where their digits would have to be counted", () => {
    const written = [1e11, 8e-6, 120_000, 0.05, 123_456_789_123, 0, -2.5e10].map(numberText);
    expect(written).toEqual(["1e11", "8e-6", "120000", "0.05", "123456789123", "0", "-2.5e10"]);
    expect(written.map(parseNumber)).toEqual([1e11, 8e-6, 120_000, 0.05, 123_456_789_123, 0, -2.5e10]);
  });
});

it("the empty form compares the baseline of the paper with its successor", () => {
  const algorithm = (name: string, title: string) => ({
    name,
    title,
    documentation: "",
    servers: 0,
    max_workers: null,
    deterministic: true,
    coordination: "synchronous",
    family: "Local steps",
    payload_per_step: 1,
    may_drop: false,
    origin: "built-in",
    hash: "",
    offers: {},
    parameters: {},
    search: {},
  });
  const draft = emptyDraft(
    [algorithm("original-easgd", "Original EASGD (round robin)"), algorithm("sync-easgd", "Sync EASGD")],
    [],
    "local",
  );
  expect(draft).toMatchObject({
    baseline: "Original EASGD",
    variants: [{ algorithm: "original-easgd" }, {}],
  });
});

describe("an example", () => {
  it.each(EXAMPLES)("$key is the file of its name, whole", ({ key, document }) => {
    const file: unknown = parse(readFileSync(`${import.meta.dirname}/../../../examples/${key}.yaml`, "utf8"));
    expect(document).toEqual(file);
    expect(variantNames(document)).toContain(document.baseline);
  });

  it("is every experiment of examples/, and no run", () => {
    const folder = `${import.meta.dirname}/../../../examples`;
    const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
    const experiments = files.filter((name) =>
      /^schema: hooke.experiment/m.test(readFileSync(`${folder}/${name}`, "utf8")),
    );
    expect(EXAMPLES.map(({ key }) => `${key}.yaml`).sort()).toEqual(experiments.sort());
  });

  it("is computed on the first cluster where none is called as in the file, and is the file elsewhere", () => {
    const document = {
      name: "x",
      clusters: [
        { name: "local", workers: [2] },
        { name: "sim", computed_on: "local", virtual: {} },
        { name: "rack", workers: [8] },
      ],
    };
    expect(placed(document, ["lab", "rack"])).toEqual({
      name: "x",
      clusters: [
        { name: "lab", workers: [2] },
        { name: "sim", computed_on: "lab", virtual: {} },
        { name: "rack", workers: [8] },
      ],
    });
    expect(placed(document, ["rack", "local"])).toBe(document);
    expect(placed(document, [])).toBe(document);
  });
});

describe("a form for a method to try", () => {
  const names = (tried?: string, known = ["sync-sgd", "sync-easgd", "original-easgd", "diloco"]) => {
    const all = known.map((name) => algorithm(name, name.toUpperCase()));
    const draft = emptyDraft(all, [workload("digits-mlp")], "local", tried);
    expect(draft.baseline).toBe(variantNames(draft)[0]);
    return variantNames(draft);
  };

  it("compares it with a common method that is another one", () => {
    expect(names("diloco")).toEqual(["SYNC-SGD", "DILOCO"]);
    expect(names("sync-sgd")).toEqual(["SYNC-EASGD", "SYNC-SGD"]);
    expect(names("diloco", ["diloco", "sync-easgd"])).toEqual(["SYNC-EASGD", "DILOCO"]);
  });

  it("begins as usual where no cluster offers it, and without one", () => {
    expect(names("gone")).toEqual(["SYNC-SGD", "SYNC-EASGD"]);
    expect(names()).toEqual(["ORIGINAL-EASGD", "SYNC-EASGD"]);
    expect(names("diloco", ["diloco"])).toEqual(["DILOCO"]);
  });
});
