import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { inTurn } from "@/lib/charts/in-turn";

let frames: FrameRequestCallback[] = [];
const frame = () => {
  const due = frames;
  frames = [];
  for (const call of due) call(0);
};

beforeEach(() => {
  frames = [];
  vi.stubGlobal("requestAnimationFrame", (call: FrameRequestCallback) => frames.push(call));
  vi.stubGlobal("cancelAnimationFrame", (handle: number) => frames.splice(handle - 1, 1));
});
afterEach(() => {
  while (frames.length > 0) frame();
  vi.unstubAllGlobals();
});

it("draws one in each frame, in the order in which they were asked for, and each once", () => {
  const drawn: string[] = [];
  const [a, b, c] = ["a", "b", "c"].map((name) => inTurn(() => drawn.push(name)));
  for (const each of [b, a, b, c, a]) each?.();
  expect(drawn).toEqual([]);
  frame();
  expect(drawn).toEqual(["b"]);
  frame();
  expect(drawn).toEqual(["b", "a"]);
  frame();
  frame();
  expect(drawn).toEqual(["b", "a", "c"]);
  expect(frames).toEqual([]);
});

it("leaves out what was cancelled, and goes on behind one that fails", () => {
  const drawn: string[] = [];
  const cancelled = inTurn(() => drawn.push("cancelled"));
  const failing = inTurn(() => {
    throw new Error("cannot be drawn");
  });
  const last = inTurn(() => drawn.push("last"));
  cancelled();
  failing();
  last();
  cancelled.cancel();
  expect(frame).toThrow("cannot be drawn");
  frame();
  expect(drawn).toEqual(["last"]);
});

it("asks for no frame where nothing is left to be drawn", () => {
  const one = inTurn(() => undefined);
  one();
  expect(frames).toHaveLength(1);
  one.cancel();
  expect(frames).toEqual([]);
});

it("takes another turn where it is asked for while it is drawn", () => {
  let count = 0;
  const again = inTurn(() => {
    count += 1;
    if (count < 3) again();
  });
  again();
  frame();
  frame();
  frame();
  frame();
  expect(count).toBe(3);
});
