/** Of many charts, those in view are drawn. */
import { fireEvent, screen } from "@testing-library/react";
import { Fragment, Profiler } from "react";
import { expect, it, onTestFinished, vi } from "vitest";
import type { ChartSeries } from "@/lib/charts/series";
import { frame, show } from "../support/app";
import { CURVE, lineChart, over, strokes } from "../support/charts";
import { outOfView } from "../support/near";

const A = CURVE;
const charts = (...lines: ChartSeries[]) => (
  <>
    {lines.map((one, i) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: they have no other name
      <Fragment key={i}>{lineChart({ title: `Chart ${i}`, series: [one], sync: "all" })}</Fragment>
    ))}
  </>
);

const image = (i: number) => screen.getByRole("img", { name: new RegExp(`^Chart ${i}`) });
/** The heights at which a chart has drawn its curve last; undefined: it was never drawn. */
const heights = (i: number) =>
  strokes(A.style.light, image(i))
    .at(-1)
    ?.points.map(([, y]) => y);

it("a chart out of view is built when it comes into view, and drawn there alone", async () => {
  const see = outOfView();
  const view = show(charts(A, A, A));
  see(image(0), true);
  await frame();
  expect([0, 1, 2].map((i) => image(i).querySelector("canvas") !== null)).toEqual([true, false, false]);
  see(image(1), true);
  await frame();
  const before = heights(1);
  expect(before).toEqual(heights(0));

  see(image(1), false);
  const next = { ...A, y: [0.2, 0.3, 1] };
  view.again(charts(next, next, next));
  await frame();
  expect(heights(0)).not.toEqual(before); // in view: new
  expect(heights(1)).toEqual(before); // out of view: as it was
  expect(heights(2)).toBeUndefined();
  expect(image(1)).toHaveAccessibleName("Chart 1. A 1 at 100."); // what is said of it is true all the same

  see(image(1), true);
  await frame();
  expect(heights(1)).toEqual(heights(0));
});

it("charts out of view have no part in the cursor that the others share", async () => {
  const see = outOfView();
  show(charts(A, A));
  see(image(0), true);
  see(image(1), true);
  await frame();
  await frame(); // each is built in a frame of its own
  const box = (i: number) => over(image(i)).lastElementChild;
  const move = async (clientX: number) => {
    fireEvent.mouseEnter(over(image(0)), { clientX, clientY: 20 });
    fireEvent.mouseMove(over(image(0)), { clientX, clientY: 20 });
    await frame();
  };
  await move(30);
  expect(box(1)).not.toHaveAttribute("hidden");
  see(image(1), false);
  await frame();
  expect(box(1)).toHaveAttribute("hidden");
  await move(60);
  expect(box(0)).not.toHaveAttribute("hidden");
  expect(box(1)).toHaveAttribute("hidden");
  see(image(1), true);
  await move(90);
  expect(box(1)).not.toHaveAttribute("hidden");
});

it("a chart near the view is drawn, and has no part in the cursor before it can be seen", async () => {
  const see = outOfView();
  show(charts(A, A));
  see(image(0), true);
  see(image(1), "near");
  await frame();
  await frame();
  expect(heights(1)).toEqual(heights(0));
  const box = (i: number) => over(image(i)).lastElementChild;
  const move = (clientX: number) => fireEvent.mouseMove(over(image(0)), { clientX, clientY: 20 });
  fireEvent.mouseEnter(over(image(0)), { clientX: 30, clientY: 20 });
  move(30);
  expect(box(0)).not.toHaveAttribute("hidden");
  expect(box(1)).toHaveAttribute("hidden");
  see(image(1), true);
  move(40);
  expect(box(1)).not.toHaveAttribute("hidden");
  see(image(1), "near");
  expect(box(1)).toHaveAttribute("hidden"); // no cursor stays behind
  expect(box(0)).not.toHaveAttribute("hidden");
});

it("on paper all charts are drawn, as they are now", async () => {
  const see = outOfView();
  const view = show(charts(A, A));
  see(image(0), true);
  await frame();
  see(image(0), false);
  const next = { ...A, y: [0.2, 0.3, 1] };
  view.again(charts(next, next));
  fireEvent(window, new Event("beforeprint"));
  await Promise.resolve(); // before the next frame: the browser takes its picture now
  expect(heights(0)).toBeDefined();
  expect(heights(0)).toEqual(heights(1));
  fireEvent(window, new Event("afterprint"));
  await frame();
});

it("what a chart gets while the page is printed is drawn at once", async () => {
  const see = outOfView();
  const view = show(charts(A));
  see(image(0), true);
  await frame();
  const before = heights(0);
  fireEvent(window, new Event("beforeprint"));
  view.again(charts({ ...A, y: [0.2, 0.3, 1] })); // such as the zoom of the page, by a chart that was out of view
  await Promise.resolve(); // before the next frame
  expect(before).toBeDefined();
  expect(heights(0)).not.toEqual(before);
  fireEvent(window, new Event("afterprint"));
  await frame();
});

it("a chart out of view is built once the browser is idle, and has no part in the cursor before it comes into view", async () => {
  const idle: (() => void)[] = [];
  vi.stubGlobal("requestIdleCallback", (call: () => void) => idle.push(call));
  onTestFinished(() => void vi.stubGlobal("requestIdleCallback", undefined));
  const see = outOfView();
  show(charts(A, A, A));
  see(image(0), true);
  await frame();
  const built = () => [0, 1, 2].map((i) => image(i).querySelector("canvas") !== null);
  expect(built()).toEqual([true, false, false]);
  idle.shift()?.();
  expect(built()).toEqual([true, true, false]); // one at a time
  idle.shift()?.();
  expect(built()).toEqual([true, true, true]);
  expect(idle).toEqual([]);
  await frame();
  expect(heights(2)).toEqual(heights(0));
  const box = (i: number) => over(image(i)).lastElementChild;
  fireEvent.mouseEnter(over(image(0)), { clientX: 30, clientY: 20 });
  fireEvent.mouseMove(over(image(0)), { clientX: 30, clientY: 20 });
  await frame();
  expect(box(0)).not.toHaveAttribute("hidden");
  expect(box(1)).toHaveAttribute("hidden");
});

it("coming near and leaving render nothing", async () => {
  const see = outOfView();
  let renders = 0;
  show(
    <Profiler id="charts" onRender={() => (renders += 1)}>
      {charts(A, A)}
    </Profiler>,
  );
  see(image(0), true);
  await frame();
  const before = renders;
  see(image(0), false);
  see(image(1), true);
  await frame();
  expect(heights(1)).toEqual(heights(0)); // drawn all the same
  see(image(0), true);
  await frame();
  expect(renders).toBe(before);
});

it("what seldom changes is drawn while the browser is idle, and not when it comes into view", async () => {
  const idle: (() => void)[] = [];
  vi.stubGlobal("requestIdleCallback", (call: () => void) => idle.push(call));
  onTestFinished(() => void vi.stubGlobal("requestIdleCallback", undefined));
  const see = outOfView();
  const two = (series: ChartSeries) => (
    <>
      {lineChart({ title: "Chart 0", series: [series] })}
      {lineChart({ title: "Chart 1", series: [series], still: true })}
    </>
  );
  const view = show(two(A));
  const pass = () => {
    while (idle.length > 0) idle.shift()?.();
    return frame();
  };
  await pass();
  const before = heights(0);
  expect(heights(1)).toEqual(before);
  view.again(two({ ...A, y: [0.2, 0.3, 1] }));
  await frame();
  expect(heights(1)).toEqual(before);
  await pass();
  expect(heights(0)).toEqual(before);
  const now = heights(1);
  expect(now).toBeDefined();
  expect(now).not.toEqual(before);
  see(image(0), true);
  await frame();
  expect(heights(0)).toEqual(now);
});
