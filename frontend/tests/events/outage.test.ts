/** How long after a server is back its events come again, and how often it was asked meanwhile. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EventStream, OPENING, QUIET, SILENCE } from "@/lib/events/event-stream";
import { FakeSource } from "../support/fake-source";

/** What the goal allows, ms. */
const SOON = 3000;
/** After so long without an answer a request ends, ms; in between nothing comes, as where packets are lost. */
const LIMIT = 2000;

let there = true;
/** Whether connections are refused at once while the server is away; otherwise they hang, also when it is back. */
let refuses = false;
let slow = false;
let asked = 0;
let opened: { source: FakeSource; at: number }[] = [];
let stream: EventStream;
const live = () => stream.connection() === "live";

function open(url: string): FakeSource {
  const source = new FakeSource(url);
  opened.push({ source, at: Date.now() });
  if (there && !slow) queueMicrotask(() => source.readyState !== 2 && source.opens());
  else if (!there && refuses) queueMicrotask(() => source.breaks(true));
  return source;
}

function reachable(): Promise<boolean> {
  asked += 1;
  if (there) return Promise.resolve(true);
  return new Promise((tell) => setTimeout(() => tell(false), refuses ? 0 : LIMIT));
}

beforeEach(async () => {
  vi.useFakeTimers();
  [there, refuses, slow, asked, opened] = [true, false, false, 0, []];
  stream = new EventStream(
    "/events",
    open,
    () => 1,
    () => true,
    reachable,
  );
  stream.subscribe({}, () => undefined);
  await vi.advanceTimersByTimeAsync(0);
  expect(live()).toBe(true);
});
afterEach(() => {
  stream.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** The server is away for so long; returns after how long the stream is live again, ms. */
async function away(length: number): Promise<number> {
  there = false;
  if (refuses) opened.at(-1)?.source.breaks(true);
  await vi.advanceTimersByTimeAsync(length);
  there = true;
  const back = Date.now();
  const before = opened.length;
  while (!(live() && opened.length > before) && Date.now() - back < 60_000)
    await vi.advanceTimersByTimeAsync(50);
  return Date.now() - back;
}

describe("events come again within three seconds after the server is back", () => {
  for (const refused of [false, true]) {
    for (const length of [20_000, 60_000, 60_700, 61_300, 62_900, 300_000]) {
      it(`that ${refused ? "refused everything" : "answered nothing"} for ${length / 1000} s`, async () => {
        refuses = refused;
        expect(await away(length)).toBeLessThanOrEqual(SOON);
        // not more than one request a second, of connections and questions together
        expect(opened.length + asked).toBeLessThanOrEqual(length / 1000);
      });
    }
  }

  it("and much more seldom where it is away for long", async () => {
    await away(3_600_000);
    expect(opened.length + asked).toBeLessThanOrEqual(3600 / 4);
  });
});

it("a connection that lost its server is opened anew as soon as the server answers and no heartbeat comes", async () => {
  await vi.advanceTimersByTimeAsync(QUIET - 1);
  expect([opened.length, asked]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(1);
  expect([opened.length, asked]).toEqual([2, 1]);
  expect(live()).toBe(true);
});

it("a server that answers and opens no stream is given more time with every try", async () => {
  slow = true;
  await vi.advanceTimersByTimeAsync(QUIET);
  await vi.advanceTimersByTimeAsync(60_000);
  const gaps = opened.slice(1).map(({ at }, i) => at - (opened[i]?.at ?? 0));
  expect(gaps.slice(0, 3)).toEqual([QUIET, 2 * OPENING, 4 * OPENING]);
  expect(Math.min(...gaps.slice(3))).toBeGreaterThanOrEqual(SILENCE);
});

it("a server that answers and refuses the stream is not asked for it at every answer", async () => {
  slow = true;
  refuses = true;
  opened.at(-1)?.source.breaks(true);
  for (let s = 0; s < 60; s += 1) {
    await vi.advanceTimersByTimeAsync(1000);
    const last = opened.at(-1)?.source;
    if (last?.readyState === 0) last.breaks(true);
  }
  expect(opened.length).toBeLessThanOrEqual(9); // by the growing delay alone
});

it("a page that nobody sees asks nothing", async () => {
  vi.stubGlobal("document", { visibilityState: "hidden" });
  await away(60_000);
  expect(asked).toBe(0);
});
