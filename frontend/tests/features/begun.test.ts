import { describe, expect, it } from "vitest";
import { asPresent } from "@/features/new-experiment/as-present";
import { clonedFrom } from "@/features/new-experiment/draft";
import type { AlgorithmList, ExperimentView, Space } from "@/lib/client/types.gen";
import { asBegun, withoutSpaces } from "@/lib/spaces/begun";
import { algorithm } from "../support/fixtures/catalogue";

const EARLIER: Space = { low: 0.01, high: 0.1, scale: "log" };
const SPEC = {
  name: "Tuned",
  variants: [{ name: "Sync", algorithm: "sync-sgd" }],
  clusters: [{ name: "local" }],
  tuning: { trials: 4, spaces: { "sync-sgd": { lr: EARLIER } }, later: ["demo"] },
} as unknown as ExperimentView["spec"];
const NOW: Space = { low: 0.001, high: 1 };
const CATALOGUE = {
  items: ["sync-sgd", "demo"].map((name) => ({
    ...algorithm(name, name),
    search: { lr: NOW, momentum: NOW },
  })),
  communication: {},
} as unknown as AlgorithmList;

describe("the spaces with which an experiment was begun", () => {
  it("are shown apart from what was submitted", () => {
    const { spec, spaces } = withoutSpaces(SPEC);
    expect(spec.tuning).toEqual({ trials: 4 });
    expect(spaces).toEqual({ "sync-sgd": { lr: EARLIER } });
    expect(withoutSpaces(spec)).toEqual({ spec, spaces: undefined });
  });

  it("are not those of a clone, which is another experiment", () => {
    expect(clonedFrom({ name: "Tuned", spec: SPEC }).tuning).toEqual({ trials: 4 });
  });

  it("are those of a clone, too, where its document gave them", () => {
    const spaces = { ...SPEC.tuning?.spaces, demo: { lr: NOW } };
    const tuning = { ...SPEC.tuning, spaces, given: ["demo"] } as typeof SPEC.tuning;
    const given = { ...SPEC, tuning } as typeof SPEC;
    expect(clonedFrom({ name: "Tuned", spec: given }).tuning).toEqual({
      trials: 4,
      spaces: { demo: { lr: NOW } },
    });
    expect(withoutSpaces(given).spaces).toEqual(spaces);
  });

  it("are what the form shows of an experiment that goes on, and of no other", () => {
    const [sync, demo] = asBegun(CATALOGUE, SPEC.tuning?.spaces).items;
    expect(sync?.search).toEqual({ lr: EARLIER });
    expect(demo?.search).toEqual({ lr: NOW, momentum: NOW });
    expect(asBegun(CATALOGUE, undefined)).toBe(CATALOGUE);
    const extended = asPresent(CATALOGUE, { spec: SPEC } as ExperimentView);
    expect(extended.items[0]?.search).toEqual({ lr: EARLIER });
  });
});
