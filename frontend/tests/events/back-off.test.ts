import { expect, it } from "vitest";
import { backOff } from "@/lib/events/back-off";

it("backs off by doubling, to a limit, with jitter", () => {
  expect(backOff(0, 1)).toBe(500);
  expect(backOff(3, 1)).toBe(4000);
  expect(backOff(50, 1)).toBe(30_000);
  expect(backOff(0, 0)).toBe(250);
});
