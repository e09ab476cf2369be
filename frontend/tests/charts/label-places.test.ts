import { describe, expect, it } from "vitest";
import { type Label, LETTER, labelPlaces, type Named } from "@/lib/charts/label-places";

const FRAME = { left: 60, right: 780 };
const point = (key: string, x: number, y: number, name = `row ${key}`): Named => ({ key, name, x, y });
const places = (named: Named[], others: [number, number][] = []) =>
  labelPlaces(named, [...named.map(({ x, y }) => [x, y] as const), ...others], FRAME);

function box({ name, x, y, anchor }: Label) {
  const width = name.length * LETTER;
  const left = anchor === "start" ? x : x - width;
  return { left, right: left + width, top: y - 10, bottom: y + 2 };
}

const apart = (a: ReturnType<typeof box>, b: ReturnType<typeof box>) =>
  a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;

describe("names beside points", () => {
  it("stand on the right, above", () => {
    expect(places([point("a", 300, 100)])).toEqual([
      { key: "a", name: "row a", x: 310, y: 91, anchor: "start" },
    ]);
  });

  it("stand on the left where the right has no room", () => {
    const [label] = places([point("a", 770, 100)]);
    expect(label).toMatchObject({ x: 760, anchor: "end" });
  });

  it("avoid a point that is in the way", () => {
    const [label] = places([point("a", 300, 100)], [[325, 88]]);
    expect(label?.y).toBeGreaterThan(100);
  });

  it("of a crowd lie on no other name and within the frame", () => {
    const crowd = Array.from({ length: 6 }, (_, n) => point(`${n}`, 300 + 9 * n, 100 + 5 * n, "a long name"));
    const boxes = places(crowd).map(box);
    for (const [n, a] of boxes.entries()) {
      expect(a.left).toBeGreaterThanOrEqual(FRAME.left);
      expect(a.right).toBeLessThanOrEqual(FRAME.right);
      for (const b of boxes.slice(n + 1)) expect(apart(a, b)).toBe(true);
    }
  });

  it("are cut where they are wider than the frame", () => {
    const [label] = places([point("a", 300, 100, "a".repeat(300))]);
    expect(label?.name.endsWith("…")).toBe(true);
    expect((label?.name.length ?? 0) * LETTER).toBeLessThanOrEqual(FRAME.right - FRAME.left);
  });
});
