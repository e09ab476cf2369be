import { expect, it, vi } from "vitest";
import { patiently } from "@/lib/api/patiently";

const FAILED = new TypeError("Failed to fetch dynamically imported module: http://x/assets/run-1.js");

it("a part that comes is passed on", async () => {
  expect(
    await patiently(
      () => Promise.resolve(1),
      () => Promise.reject(new Error("is not asked")),
      1,
    ),
  ).toBe(1);
});

it("a part that a server which is away cannot give is asked for again when it is back", async () => {
  const load = vi.fn<() => Promise<number>>().mockRejectedValueOnce(FAILED).mockResolvedValue(2);
  const there = vi.fn<() => Promise<boolean>>().mockResolvedValueOnce(false).mockResolvedValueOnce(false);
  there.mockResolvedValue(true);
  expect(await patiently(load, there, 1)).toBe(2);
  expect(there).toHaveBeenCalledTimes(3);
  expect(load).toHaveBeenCalledTimes(2);
});

it("a part that a server does not have any more is an error", async () => {
  const load = () => Promise.reject(FAILED);
  await expect(patiently(load, () => Promise.resolve(true), 1)).rejects.toBe(FAILED);
});
