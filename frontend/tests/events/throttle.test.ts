import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { throttle } from "@/lib/events/throttle";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("calls at once, then makes one call of all that came in between", async () => {
  const call = vi.fn();
  const request = throttle(call, 100);
  for (let i = 0; i < 10; i += 1) request();
  expect(call).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(100);
  expect(call).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(1000);
  expect(call).toHaveBeenCalledTimes(2);
});

it("never has two calls under way, and loses none that came meanwhile", async () => {
  let answer: () => void = () => undefined;
  const call = vi.fn(() => new Promise<void>((resolve) => (answer = resolve)));
  const request = throttle(call, 100);
  request();
  request();
  await vi.advanceTimersByTimeAsync(5000);
  expect(call).toHaveBeenCalledTimes(1);
  answer();
  await vi.advanceTimersByTimeAsync(100);
  expect(call).toHaveBeenCalledTimes(2);
});

it("goes on after a call that failed, and stops when cancelled", async () => {
  const call = vi.fn(() => Promise.reject(new Error("refused")));
  const request = throttle(call, 100);
  request();
  await vi.advanceTimersByTimeAsync(100);
  request();
  expect(call).toHaveBeenCalledTimes(2);
  request();
  request.cancel();
  await vi.advanceTimersByTimeAsync(1000);
  expect(call).toHaveBeenCalledTimes(2);
});
