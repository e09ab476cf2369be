/** What is in view moves with the pointer while Shift is held. */
import { createEvent, fireEvent } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { moved } from "@/lib/charts/pan";
import type { Zoom } from "@/lib/charts/zoom";
import { frame } from "../support/app";
import { over, RAMP, showChart, strokes } from "../support/charts";

describe("a part of an axis", () => {
  it.each([
    ["moves", 3, [13, 23]],
    ["moves back", -3, [7, 17]],
    ["stops at the end", 200, [90, 100]],
    ["stops at the beginning", -200, [0, 10]],
  ] as const)("%s", (_, by, expected) => {
    expect(moved([10, 20], by, [0, 100])).toEqual(expected);
  });

  it("that is wider than what there is, or beyond its end, does not jump", () => {
    expect(moved([-5, 120], 3, [0, 100])).toEqual([-5, 120]);
    expect(moved([95, 105], 3, [0, 100])).toEqual([95, 105]);
    expect(moved([95, 105], -3, [0, 100])).toEqual([92, 102]);
  });
});

const chart = (kept: Zoom[], zoom: Zoom | undefined) =>
  showChart({ series: [RAMP], zoom, onZoom: (next) => next && kept.push(next) });
const left = () => strokes().at(-1)?.points[0]?.[0];

async function drag(from: number, to: number, shiftKey: boolean) {
  const down = createEvent.mouseDown(over(), { clientX: from, clientY: 20, button: 0, shiftKey });
  fireEvent(over(), down);
  fireEvent.mouseMove(document, { clientX: to, clientY: 20 });
  await frame();
  return down;
}

it("moves while it is dragged, and is kept once, when the button is let go", async () => {
  const kept: Zoom[] = [];
  await chart(kept, [40, 60]);
  const before = left();
  const width = over().clientWidth; // px of 20 s
  const down = await drag(50, 50 - 0.11 * width, true);
  expect(down.defaultPrevented).toBe(true); // no text is selected meanwhile
  expect(left()).not.toBe(before);
  expect(kept).toEqual([]); // the address does not change at every step
  fireEvent.mouseMove(document, { clientX: 50 - width / 2, clientY: 20 });
  fireEvent.mouseUp(document);
  await frame();
  expect(kept).toEqual([[50, 70]]);
  fireEvent.mouseMove(document, { clientX: 0, clientY: 20 });
  fireEvent.mouseUp(document);
  expect(kept).toHaveLength(1);
});

it.each([
  ["without Shift", [40, 60] as Zoom, false],
  ["where all is in view", undefined, true],
])("nothing moves %s", async (_, zoom, shift) => {
  const kept: Zoom[] = [];
  await chart(kept, zoom);
  const down = await drag(50, 20, shift);
  expect(down.defaultPrevented).toBe(false);
  fireEvent.mouseUp(document);
  await frame();
  expect(kept).toEqual([]);
});
