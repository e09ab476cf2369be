/** A finger zooms a chart as a mouse does, and leaves scrolling to the page. */
import { createEvent, fireEvent, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { LineChart } from "@/lib/charts/line-chart";
import type { ChartSeries } from "@/lib/charts/series";
import type { Zoom } from "@/lib/charts/zoom";
import { variantStyle } from "@/lib/theme/palette";
import { frame, show } from "../support/app";

const A: ChartSeries = {
  label: "A",
  style: variantStyle(0),
  x: Array.from({ length: 101 }, (_, i) => i),
  y: Array.from({ length: 101 }, (_, i) => i / 100),
};

async function drawn(zoom?: Zoom) {
  const kept: (Zoom | undefined)[] = [];
  show(
    <LineChart
      title="Accuracy"
      series={[A]}
      xTitle="s"
      formatX={String}
      tickX={String}
      formatY={String}
      tickY={String}
      zoom={zoom}
      onZoom={(next) => kept.push(next)}
    />,
  );
  await frame();
  return kept;
}

const over = () => screen.getByRole("img").querySelector(".u-over") as HTMLElement;
const marked = () => (over().querySelector(".u-select") as HTMLElement).style.width;

type Kind = "pointerDown" | "pointerMove" | "pointerUp" | "pointerCancel";

function touch(kind: Kind, clientX: number, isPrimary = true, pointerType = "touch") {
  const event = createEvent[kind](over(), { clientX, clientY: 20 });
  for (const [name, value] of Object.entries({ isPrimary, pointerType, clientX }))
    Object.defineProperty(event, name, { value });
  fireEvent(over(), event);
}

/** Pixels of a share of the axis. */
const at = (share: number) => share * over().clientWidth;

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
    touch("pointerDown", at(0.6), false);
    touch("pointerMove", at(0.7));
    touch("pointerUp", at(0.7));
    expect(kept).toEqual([]);
  });
});

it("two taps show all; one tap, and a mouse, do nothing of it", async () => {
  const kept = await drawn([20, 40]);
  const tap = (type = "touch") => {
    touch("pointerDown", at(0.5), true, type);
    touch("pointerUp", at(0.5), true, type);
  };
  tap("mouse");
  tap("mouse");
  tap();
  expect(kept).toEqual([]);
  tap();
  expect(kept).toEqual([undefined]);
});
