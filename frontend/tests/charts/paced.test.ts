import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { inTurn } from "@/lib/charts/in-turn";
import { PACE, PATIENCE, paced } from "@/lib/charts/paced";

let frames: FrameRequestCallback[] = [];
let now = 0; // ms, of all tests: what was written last is known to the next one
/** So many frames of 10 ms. */
const pass = (count: number) => {
  for (let i = 0; i < count; i += 1) {
    now += 10;
    const due = frames;
    frames = [];
    for (const call of due) call(now);
  }
};
const WHILE = PACE / 10;

beforeEach(() => {
  frames = [];
  now += PACE;
  vi.stubGlobal("requestAnimationFrame", (call: FrameRequestCallback) => frames.push(call));
  vi.stubGlobal("cancelAnimationFrame", (handle: number) => frames.splice(handle - 1, 1));
});
afterEach(() => {
  pass(WHILE + 1);
  vi.unstubAllGlobals();
});

it("writes in the next frame, then once in a while, and the newest at last", () => {
  const written: [number, number][] = [];
  let value = 0;
  const began = now;
  const write = paced(() => written.push([now - began, value]));
  for (value = 1; value <= 25; value += 1) {
    write();
    pass(1);
  }
  value = 26;
  write();
  pass(WHILE);
  expect(written).toEqual([
    [10, 1],
    [10 + PACE, 11],
    [10 + 2 * PACE, 21],
    [10 + 3 * PACE, 26],
  ]);
});

it("writes all that waits in one frame, each once, and then asks for none", () => {
  const written: [string, number][] = [];
  const [a, b] = ["a", "b"].map((name) => paced(() => written.push([name, now])));
  for (const each of [b, a, b]) each?.();
  const first = now + 10;
  pass(1);
  for (const each of [a, b]) each?.();
  pass(WHILE);
  expect(written).toEqual([
    ["b", first],
    ["a", first],
    ["a", first + PACE],
    ["b", first + PACE],
  ]);
  expect(frames).toEqual([]);
});

it("writes nothing that was cancelled, and goes on behind one that fails", () => {
  const written: string[] = [];
  const failing = paced(() => {
    throw new Error("cannot be written");
  });
  const [cancelled, last] = ["cancelled", "last"].map((name) => paced(() => written.push(name)));
  failing();
  cancelled?.();
  last?.();
  cancelled?.cancel();
  expect(() => pass(1)).toThrow("cannot be written");
  pass(WHILE);
  expect(written).toEqual(["last"]);
  last?.();
  last?.cancel();
  expect(frames).toEqual([]);
});

it("leaves frames to charts that are drawn in turn, and waits no longer than somebody who reads", () => {
  const done: [string, number][] = [];
  const began = now;
  const did = (name: string) => done.push([name, now - began]);
  const write = paced(() => did("values"));
  const charts = ["a", "b"].map((name) => inTurn(() => did(name)));
  for (const chart of charts) chart();
  write();
  pass(4);
  expect(done).toEqual([
    ["a", 10],
    ["b", 20],
    ["values", 30], // not in the frame of the last chart, although nothing waits in it
  ]);

  done.length = 0;
  let going = true;
  const again = inTurn(() => going && again());
  again();
  now += PACE;
  const asked = now;
  write();
  pass(PATIENCE / 10 + 2);
  going = false;
  expect(done).toEqual([["values", asked + 10 + PATIENCE - began]]);
});
