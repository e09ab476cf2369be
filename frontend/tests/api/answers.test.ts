import { expect, it, vi } from "vitest";
import { answers } from "@/lib/api/answers";

it("a server is there when it says anything but that it has failed", async () => {
  const fetched = vi.spyOn(globalThis, "fetch");
  for (const [status, there] of [
    [204, true],
    [401, true],
    [503, false],
  ] as const) {
    fetched.mockResolvedValueOnce(new Response(null, { status }));
    expect(await answers()).toBe(there);
  }
  fetched.mockRejectedValueOnce(new TypeError("Failed to fetch"));
  expect(await answers()).toBe(false);
});

it("a request that hangs in a network that is gone is no answer", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementation(
    (_, given) =>
      new Promise((_, fail) => given?.signal?.addEventListener("abort", () => fail(given.signal?.reason))),
  );
  expect(await answers(5)).toBe(false);
});
