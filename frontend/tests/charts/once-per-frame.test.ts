import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { oncePerFrame } from "@/lib/charts/once-per-frame";

let frames: FrameRequestCallback[] = [];

beforeEach(() => {
  frames = [];
  vi.stubGlobal("requestAnimationFrame", (call: FrameRequestCallback) => frames.push(call));
  vi.stubGlobal("cancelAnimationFrame", (handle: number) => frames.splice(handle - 1, 1));
});
afterEach(() => vi.unstubAllGlobals());

it("draws once per frame, however often it is asked", () => {
  const draw = vi.fn();
  const request = oncePerFrame(draw);
  for (let i = 0; i < 100; i += 1) request();
  expect(frames).toHaveLength(1);
  frames[0]?.(0);
  expect(draw).toHaveBeenCalledTimes(1);
  request();
  expect(frames).toHaveLength(2);
});

it("draws nothing after it was cancelled", () => {
  const draw = vi.fn();
  const request = oncePerFrame(draw);
  request();
  request.cancel();
  expect(frames).toHaveLength(0);
  expect(draw).not.toHaveBeenCalled();
});
