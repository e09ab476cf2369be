import { describe, expect, it } from "vitest";
import { keyZoom, leaveCursor, moveCursor } from "@/lib/charts/cursor-keys";

type Plot = Parameters<typeof moveCursor>[0];

const X = [0, 10, 20, 30, 40];
/** A chart of 100 px from 0 to 40, of which some points may be in view alone, with its cursor at a point of it. */
function plot(at: number | undefined, view: [number, number] = [0, X.length - 1]) {
  const told: { left: number; hooks: boolean; synced: boolean }[] = [];
  const drawn = {
    data: [X],
    series: [{ idxs: view }],
    cursor: at === undefined ? { left: -10, idx: 3 } : { left: X[at], idx: at },
    valToPos: (value: number) => value * 2.5,
    setCursor: ({ left }: { left: number }, hooks: boolean, synced: boolean) =>
      told.push({ left, hooks, synced }),
  } as unknown as Plot;
  return { drawn, told };
}

/** The x to which a key moves the cursor; undefined: it does nothing. */
function moved(key: string, at?: number, view?: [number, number]): number | undefined {
  const { drawn, told } = plot(at, view);
  const did = moveCursor(drawn, key);
  expect(did).toBe(told.length === 1);
  return told[0] && told[0].left / 2.5;
}

describe("a key on a chart", () => {
  it.each<[string, number | undefined, number | undefined]>([
    ["ArrowRight", 1, 20],
    ["ArrowLeft", 1, 0],
    ["ArrowLeft", 0, 0], // there is none before it
    ["ArrowRight", 4, 40],
    ["ArrowRight", undefined, 0], // where it left off says nothing
    ["ArrowLeft", undefined, 40],
    ["Home", 3, 0],
    ["End", 1, 40],
    ["Enter", 1, undefined],
    ["Tab", 1, undefined],
  ])("%s, from point %j, leads to %j", (key, at, expected) => {
    expect(moved(key, at)).toBe(expected);
  });

  it("stays in what a zoom shows", () => {
    expect(moved("Home", 2, [1, 3])).toBe(10);
    expect(moved("End", 2, [1, 3])).toBe(30);
    expect(moved("ArrowRight", 3, [1, 3])).toBe(30);
    expect(moved("ArrowLeft", undefined, [1, 3])).toBe(30);
  });

  it("moves the cursors of the charts beside it, too, and takes them off together", () => {
    const { drawn, told } = plot(1);
    moveCursor(drawn, "End");
    leaveCursor(drawn);
    expect(told).toEqual([
      { left: 100, hooks: true, synced: true },
      { left: -10, hooks: true, synced: true },
    ]);
  });

  it("does nothing on a chart without points", () => {
    const { drawn } = plot(undefined);
    expect(moveCursor({ ...drawn, data: [[]], series: [{}] }, "End")).toBe(false);
  });
});

describe("a key that zooms", () => {
  type Zoomed = Parameters<typeof keyZoom>[0];
  const zoomed = (key: string, view: [number, number], at?: number) => {
    const cursor = at === undefined ? { left: -10, idx: 2 } : { left: 1, idx: at };
    return keyZoom({ data: [X], cursor, scales: { x: { min: view[0], max: view[1] } } } as Zoomed, key);
  };

  it.each<[string, [number, number], number | undefined, unknown]>([
    ["+", [0, 40], undefined, [10, 30]],
    ["=", [0, 40], undefined, [10, 30]], // the same key without Shift
    ["+", [0, 40], 1, [5, 25]], // the cursor, at 10, stays where it is
    ["-", [10, 20], undefined, [5, 25]],
    ["-", [0, 10], 0, [0, 20]],
    ["-", [5, 30], undefined, undefined], // all is in view again
    ["a", [0, 40], undefined, null],
  ])("%s, from %j with the cursor at point %j, shows %j", (key, view, at, expected) => {
    expect(zoomed(key, view, at)).toEqual(expected);
  });

  it("does nothing on a chart without points", () => {
    expect(keyZoom({ data: [[]], cursor: {}, scales: { x: {} } } as unknown as Zoomed, "+")).toBeNull();
  });
});
