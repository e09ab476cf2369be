import { describe, expect, it } from "vitest";
import type { Band, BandAnswer } from "@/lib/client/types.gen";
import { applied } from "@/lib/columns/increments";
import { band } from "../support/fixtures/experiment";

const answer = (bands: Band[], changes: Partial<BandAnswer> = {}): BandAnswer => ({
  axis: "clock",
  unit: "s",
  position: 0,
  version: "v1",
  since: null,
  bands,
  ...changes,
});
const increment = (bands: Band[]) => answer(bands, { version: "v2", since: "v1" });

describe("an answer that continues another one", () => {
  it("is put together with it, in the middle and at the end", () => {
    const before = answer([band("A"), band("B")]);
    const piece = { x: [2.5], mean: [0.9], low: [0.8], high: [1], n: [2] };
    const after = applied(
      increment([
        band("A", { ...piece, kept_before: 2, kept_after: 1 }),
        band("B", { x: [4], mean: [1], low: [1], high: [1], n: [3], kept_before: 3, kept_after: 0 }),
      ]),
      before,
    );
    expect(after.bands[0]).toMatchObject({
      x: [1, 2, 2.5, 3],
      mean: [0.5, 0.8, 0.9, 0.95],
      low: [0.4, 0.75, 0.8, 0.94],
      high: [0.6, 0.85, 1, 0.96],
      n: [3, 3, 2, 3],
    });
    expect(after.bands[1]?.x).toEqual([1, 2, 3, 4]);
    expect(after).toMatchObject({ version: "v2", since: null });
  });

  it("keeps the very bands that it does not name, in their order", () => {
    const before = answer([band("A"), band("B"), band("C")]);
    const piece = { x: [4], mean: [1], low: [1], high: [1], n: [3], kept_before: 3, kept_after: 0 };
    const after = applied(increment([band("B", piece)]), before);
    expect(after.bands[0]).toBe(before.bands[0]);
    expect(after.bands[2]).toBe(before.bands[2]);
    expect(after.bands[1]?.x).toEqual([1, 2, 3, 4]);
    expect(applied(increment([]), before).bands).toEqual(before.bands);
  });

  it("takes a band that is new as it comes", () => {
    const fresh = band("C", { kept_before: 0, kept_after: 0 });
    expect(applied(increment([fresh]), answer([band("A")])).bands).toEqual([band("A"), fresh]);
  });
});

it("an answer that is whole, or continues one that is not here, is left alone", () => {
  const full = answer([band("A")]);
  expect(applied(full, undefined)).toBe(full);
  const strange = increment([band("A")]);
  expect(applied(strange, answer([], { version: "v0" }))).toBe(strange);
});
