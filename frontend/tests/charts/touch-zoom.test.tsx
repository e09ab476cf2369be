/** A finger zooms a chart as a mouse does, and leaves scrolling to the page. */
import { describe, expect, it } from "vitest";
import type { Zoom } from "@/lib/charts/zoom";
import { at, over, RAMP, showChart, touch } from "../support/charts";

async function drawn() {
  const kept: (Zoom | undefined)[] = [];
  await showChart({ series: [RAMP], zoom: undefined, onZoom: (next) => kept.push(next) });
  return kept;
}

const marked = () => (over().querySelector(".u-select") as HTMLElement).style.width;

describe("a finger that moves sideways", () => {
  it("marks the part that is then in view", async () => {
    const kept = await drawn();
    touch("pointerDown", at(0.2));
    touch("pointerMove", at(0.5));
    expect(Number.parseFloat(marked())).toBeCloseTo(at(0.3), 0);
    expect(kept).toEqual([]);
    touch("pointerUp", at(0.5));
    expect(kept).toHaveLength(1);
    const [from, to] = kept[0] as Zoom;
    expect(to / from).toBeCloseTo(2.5, 0); // in jsdom the plot is as wide as the chart, its axis is not
    expect(Math.abs(from - 20)).toBeLessThan(3);
    expect(Number.parseFloat(marked())).toBe(0);
  });

  it("marks up to the end of the chart, also backwards", async () => {
    const kept = await drawn();
    touch("pointerDown", at(0.4));
    touch("pointerMove", -50);
    touch("pointerUp", -50);
    const [from, to] = kept[0] as Zoom;
    expect(from).toBeCloseTo(0, 0);
    expect(Math.abs(to - 40)).toBeLessThan(4);
  });

  it("does nothing where the page scrolls instead, or a second finger comes", async () => {
    const kept = await drawn();
    touch("pointerDown", at(0.2));
    touch("pointerMove", at(0.4));
    touch("pointerCancel", at(0.4));
    touch("pointerUp", at(0.4));
    expect(Number.parseFloat(marked())).toBe(0);
    touch("pointerDown", at(0.2));
    touch("pointerMove", at(0.4));
    touch("pointerDown", at(0.6), 2);
    touch("pointerMove", at(0.7));
    touch("pointerUp", at(0.7));
    expect(kept).toEqual([]);
  });
});
