import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { withPatience } from "@/lib/api/patience";
import { explain, worthRetrying } from "@/lib/api/problem";

const LIMIT = 20_000;
const BASE = "http://server/api/v1";
let patient: typeof fetch;
/** Answers the requests that wait. */
let answer: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  patient = withPatience();
  vi.spyOn(globalThis, "fetch").mockImplementation(
    (_, given) =>
      new Promise((told, fail) => {
        answer = () => told(new Response("{}"));
        const end = () => fail(given?.signal?.reason);
        if (given?.signal?.aborted) end();
        given?.signal?.addEventListener("abort", end);
      }),
  );
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** What has become of a request after some time. */
async function after(ms: number, asked: Promise<Response>): Promise<unknown> {
  let end: unknown = "waits";
  asked.then(
    () => (end = "answered"),
    (error: unknown) => (end = error),
  );
  await vi.advanceTimersByTimeAsync(ms);
  return end;
}
const ask = (path: string, init?: RequestInit) => patient(new Request(BASE + path, init));

it("what reads and is not answered counts as a lost connection, which is tried again", async () => {
  const asked = ask("/experiments?limit=5");
  expect(await after(LIMIT - 1, asked)).toBe("waits");
  const error = await after(1, asked);
  expect(error).toBeInstanceOf(TypeError);
  expect(worthRetrying(0, error)).toBe(true);
  expect(explain(error)).toMatch(/^The server did not respond/);
  expect(await after(LIMIT, ask("/series", { method: "POST", body: "{}" }))).toBeInstanceOf(TypeError);
});

it("the same is given twice as long with every try, up to eight times as long, until it is answered", async () => {
  for (const times of [1, 2, 4, 8, 8]) {
    const asked = ask("/runs");
    expect(await after(times * LIMIT - 1, asked)).toBe("waits");
    expect(await after(1, asked)).toBeInstanceOf(TypeError);
  }
  const asked = ask("/runs");
  answer();
  expect(await after(0, asked)).toBe("answered");
  expect(await after(LIMIT, ask("/runs"))).toBeInstanceOf(TypeError);
  expect(vi.getTimerCount()).toBe(0);
});

it("what changes something, and files, are waited for", async () => {
  for (const [path, method] of [
    ["/experiments", "POST"],
    ["/experiments/exp_7", "PATCH"],
    ["/runs.parquet?experiment=exp_7", "GET"],
  ] as const)
    expect(await after(10 * LIMIT, ask(path, { method }))).toBe("waits");
});

it("what nobody wants any more is ended as it always was", async () => {
  const wants = new AbortController();
  const asked = ask("/runs", { signal: wants.signal });
  expect(await after(5, asked)).toBe("waits");
  wants.abort();
  expect(await after(0, asked)).toHaveProperty("name", "AbortError");
  expect(await after(0, ask("/runs", { signal: AbortSignal.abort() }))).toHaveProperty("name", "AbortError");
});

it("what was given more time longest ago is forgotten where many addresses were not answered", async () => {
  const lost = async (paths: readonly string[]) => {
    const asked = paths.map((path) => ask(path).catch(() => undefined));
    await vi.advanceTimersByTimeAsync(2 * LIMIT);
    await Promise.all(asked);
  };
  await lost(["/runs?cursor=a"]);
  await lost(Array.from({ length: 99 }, (_, i) => `/runs?cursor=${i}`));
  await lost(["/runs?cursor=a"]); // is the newest again
  await lost(["/runs?cursor=b"]);
  expect(await after(LIMIT, ask("/runs?cursor=a"))).toBe("waits");
  expect(await after(LIMIT, ask("/runs?cursor=0"))).toBeInstanceOf(TypeError);
});
