// @vitest-environment jsdom
import { expect, it, onTestFinished, vi } from "vitest";
import { followNetwork } from "@/lib/events/follow-network";

it("a sleep is noticed by the clock, which no browser tells of", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const wake = vi.fn();
  const end = followNetwork({ wake });
  vi.advanceTimersByTime(60_000);
  expect(wake).not.toHaveBeenCalled();
  vi.setSystemTime(Date.now() + 60_000); // timers stand still meanwhile
  vi.advanceTimersByTime(2000);
  expect(wake).toHaveBeenCalledTimes(1);
  end();
  vi.setSystemTime(Date.now() + 60_000);
  vi.advanceTimersByTime(2000);
  expect(wake).toHaveBeenCalledTimes(1);
});

it("a page that the browser had frozen tries at once", () => {
  const wake = vi.fn();
  const end = followNetwork({ wake });
  document.dispatchEvent(new Event("resume"));
  expect(wake).toHaveBeenCalledTimes(1);
  end();
  document.dispatchEvent(new Event("resume"));
  expect(wake).toHaveBeenCalledTimes(1);
});
