/** Fingers move and zoom the part of a chart that is in view. */
import { describe, expect, it } from "vitest";
import { isWide } from "@/lib/charts/log-x";
import { followed } from "@/lib/charts/touch-move";
import type { Zoom } from "@/lib/charts/zoom";
import { frame } from "../support/app";
import { at, figure, over, RAMP, showChart, strokes, touch } from "../support/charts";

const ONE = (middle: number) => ({ middle, apart: 24 });

describe("what is in view once fingers have moved", () => {
  it.each([
    ["is moved by one", ONE(50), ONE(30), [44, 64]],
    ["stops at the end", ONE(90), ONE(-900), [80, 100]],
    ["stops at the beginning", ONE(10), ONE(900), [0, 20]],
    ["is halved about two that part", { middle: 50, apart: 20 }, { middle: 50, apart: 40 }, [45, 55]],
    [
      "is twice as much about two that close",
      { middle: 100, apart: 40 },
      { middle: 100, apart: 20 },
      [20, 60],
    ],
    ["is all at most", { middle: 50, apart: 400 }, { middle: 50, apart: 20 }, [0, 100]],
    ["is moved and halved at once", { middle: 0, apart: 20 }, { middle: 50, apart: 40 }, [35, 45]],
  ] as const)("%s", (_, before, now, expected) => {
    const [from, to] = followed([40, 60], before, now, 100, [0, 100]);
    expect([from, to]).toEqual([expect.closeTo(expected[0]), expect.closeTo(expected[1])]);
  });

  it("does not jump where a part beyond the end is in view", () => {
    expect(followed([95, 105], ONE(50), ONE(50), 100, [0, 100])).toEqual([95, 105]);
  });
});

async function zoomed(zoom: Zoom | undefined) {
  const kept: (Zoom | undefined)[] = [];
  await showChart({ series: [RAMP], zoom, onZoom: (next) => kept.push(next) });
  return kept;
}

const left = () => strokes().at(-1)?.points[0]?.[0];

it("a finger moves what is in view, which is drawn meanwhile and kept once", async () => {
  const kept = await zoomed([40, 60]);
  const before = left();
  touch("pointerDown", at(0.6));
  touch("pointerMove", at(0.6) - 5); // may become a tap
  touch("pointerMove", at(0.49)); // not by whole points, which would look the same
  await frame();
  expect(left()).not.toBe(before);
  touch("pointerMove", at(0.1));
  expect(kept).toEqual([]);
  touch("pointerUp", at(0.1));
  expect(kept).toEqual([[expect.closeTo(50), expect.closeTo(70)]]);
  expect(over().querySelector<HTMLElement>(".u-select")?.style.width || "0px").toBe("0px"); // nothing is marked
});

it("two fingers zoom, and the one that stays goes on moving", async () => {
  const kept = await zoomed([40, 60]);
  touch("pointerDown", at(0.4), 1);
  touch("pointerDown", at(0.6), 2);
  touch("pointerMove", at(0.3), 1);
  touch("pointerMove", at(0.7), 2);
  touch("pointerUp", at(0.7), 2);
  expect(kept).toEqual([]);
  touch("pointerMove", at(0.8), 1);
  touch("pointerUp", at(0.8), 1);
  // half of it about their middle, 390 px from the left of 800: 44.875 to 54.875; then moved by half of that
  expect(kept).toEqual([[expect.closeTo(39.875), expect.closeTo(49.875)]]);
});

it("fingers that come together far enough show all", async () => {
  const kept = await zoomed([40, 60]);
  touch("pointerDown", at(0.1), 1);
  touch("pointerDown", at(0.9), 2);
  touch("pointerMove", at(0.45), 1);
  touch("pointerMove", at(0.55), 2);
  touch("pointerUp", at(0.55), 2);
  touch("pointerUp", at(0.45), 1);
  expect(kept).toEqual([undefined]);
});

it("on a logarithmic axis moves by equal factors", async () => {
  const kept: (Zoom | undefined)[] = [];
  const x = Array.from({ length: 41 }, (_, i) => 10 ** (i / 10));
  await showChart({
    series: [{ ...RAMP, x, y: x }],
    logX: true,
    zoom: [10, 100],
    onZoom: (z) => kept.push(z),
  });
  touch("pointerDown", at(0.9));
  touch("pointerMove", at(0.4));
  touch("pointerUp", at(0.4));
  expect(kept).toEqual([[expect.closeTo(10 ** 1.5), expect.closeTo(10 ** 2.5)]]);
});

it("two taps show all; one tap, and a mouse, do nothing of it", async () => {
  const kept = await zoomed([20, 40]);
  const tap = (type = "touch") => {
    touch("pointerDown", at(0.5), 1, type);
    touch("pointerUp", at(0.5), 1, type);
  };
  tap("mouse");
  tap("mouse");
  tap();
  expect(kept).toEqual([]);
  tap();
  expect(kept).toEqual([undefined]);
});

it("a tap before the page is scrolled shows nothing else", async () => {
  const kept = await zoomed([20, 40]);
  touch("pointerDown", at(0.5));
  touch("pointerUp", at(0.5));
  touch("pointerDown", at(0.5));
  touch("pointerCancel", at(0.5)); // the browser takes the finger away for its scrolling
  expect(kept).toEqual([]);
});

it("two fingers zoom no further than what can be shown", () => {
  const [from, to] = followed([0, 4e-6], { middle: 50, apart: 30 }, { middle: 50, apart: 3000 }, 100, [0, 1]);
  expect(isWide([from, to], [0, 1], false)).toBe(true);
});

it("leaves two fingers to the browser where all is in view, so that they enlarge the page", async () => {
  const kept = await zoomed(undefined);
  expect(figure()).toHaveAttribute("data-zoomed", "false");
  touch("pointerDown", at(0.4), 1);
  touch("pointerDown", at(0.6), 2);
  touch("pointerMove", at(0.1), 1);
  touch("pointerUp", at(0.1), 1);
  touch("pointerUp", at(0.6), 2);
  expect(kept).toEqual([]);
});
