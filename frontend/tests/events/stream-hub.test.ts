import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EventStream, OPENING, SILENCE } from "@/lib/events/event-stream";
import { type Port, SharedSource } from "@/lib/events/shared-source";
import { type FromTab, StreamHub, type ToTab } from "@/lib/events/stream-hub";
import { FakeSource } from "../support/fake-source";

let opened: FakeSource[] = [];
let hub: StreamHub;
const last = () => opened.at(-1) as FakeSource;
const open = () => opened.filter((source) => source.readyState !== 2);
const settle = () => vi.advanceTimersByTimeAsync(50);

/** A tab: its own event stream, over a port to the hub that delivers in order, later. */
function tab(
  topic: { experiment?: string; run?: string },
  reachable = () => Promise.resolve(false),
  begins = "",
) {
  const port: Port = {
    onmessage: null,
    postMessage: (message: FromTab) => queueMicrotask(() => hub.receive(theirs, structuredClone(message))),
  };
  const theirs = {
    postMessage: (data: ToTab) =>
      queueMicrotask(() => port.onmessage?.(new MessageEvent("message", { data }))),
  };
  const heard: string[] = [];
  const stream = new EventStream(
    "/api/v1/events",
    (url) => new SharedSource(port, url),
    () => 1,
    () => true,
    reachable,
  );
  stream.beginAfter(begins);
  stream.subscribe(topic, (event) => heard.push(event.kind));
  tabs.push(stream);
  return { heard, stream };
}
const tabs: EventStream[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  opened = [];
  hub = new StreamHub("/api/v1/events", (url) => {
    const source = new FakeSource(url);
    opened.push(source);
    return source;
  });
});
afterEach(() => {
  for (const stream of tabs.splice(0)) stream.close();
  vi.useRealTimers();
});

describe("tabs of one browser", () => {
  it("share one connection, of all that any of them listens to", async () => {
    const all = Array.from({ length: 7 }, (_, i) => tab({ experiment: `e${i % 3}` }));
    await settle();
    expect(opened.map(({ url }) => url)).toEqual([
      "/api/v1/events?experiment=e0&experiment=e1&experiment=e2",
    ]);
    last().opens();
    await settle();
    expect(all.map(({ stream }) => stream.connection())).toEqual(Array(7).fill("live"));
    last().sends("run", { id: "r1", experiment_id: "e1", state: "running", attempt: 1 }, "5");
    await settle();
    expect(all.map(({ heard }) => heard.includes("run"))).toEqual([0, 1, 2, 0, 1, 2, 0].map((i) => i === 1));
  });

  it("that come later are live at once where their topic is there already", async () => {
    tab({});
    await settle();
    last().opens();
    const later = tab({ run: "r1" });
    await settle();
    expect(later.stream.connection()).toBe("live");
    expect(later.heard).toEqual(["reset"]); // what it fetched before may lack something
    expect(opened).toHaveLength(1);
  });

  it("continue where the last position was when another one joins or leaves", async () => {
    const first = tab({ experiment: "e1" });
    await settle();
    last().opens();
    last().sends("experiment", { id: "e1" }, "41");
    const second = tab({ experiment: "e2" });
    await settle();
    expect(open().map(({ url }) => url)).toEqual(["/api/v1/events?experiment=e1&experiment=e2&after=41"]);
    last().opens();
    second.stream.close();
    await settle();
    expect(open().map(({ url }) => url)).toEqual(["/api/v1/events?experiment=e1&after=41"]);
    expect(first.heard).toEqual(["reset", "experiment"]);
  });

  it("that come later fetch nothing again where nothing has happened since their page was sent", async () => {
    tab({}, undefined, "7");
    await settle();
    last().opens();
    last().sends("heartbeat", {}, "7");
    const later = tab({ run: "r1" }, undefined, "7");
    const newer = tab({ run: "r2" }, undefined, "9"); // what it knows comes to all, later
    await settle();
    expect([later, newer].map(({ stream }) => stream.connection())).toEqual(["live", "live"]);
    expect([later.heard, newer.heard]).toEqual([[], []]);
    expect(opened.map(({ url }) => url)).toEqual(["/api/v1/events?after=7"]);
  });

  it("that return with a position of before the server was restored fetch all again, alone", async () => {
    const first = tab({}, undefined, "7");
    await settle();
    last().opens();
    last().sends("heartbeat", {}, "7");
    const returned = tab({ experiment: "e1" }, undefined, "90");
    const newer = tab({}, undefined, "9");
    await settle();
    last().sends("heartbeat", {}, "8"); // the process that answers has not read all yet
    await vi.advanceTimersByTimeAsync(10_000);
    last().sends("experiment", { id: "e1" }, "9");
    await settle();
    expect([first, returned, newer].map(({ heard }) => heard)).toEqual(Array(3).fill(["experiment"]));
    returned.stream.subscribe({ run: "r1" }, () => undefined); // asks anew, with what it has heard last
    await vi.advanceTimersByTimeAsync(6_000);
    for (const id of ["9", "9"]) last().sends("heartbeat", {}, id);
    await settle();
    expect([first.heard.length, newer.heard.length, opened.length]).toEqual([1, 1, 1]);
    expect(returned.heard).toEqual(["experiment", "reset"]);
  });

  it("that come later are told what has happened since their page was sent, and nobody fetches all again", async () => {
    const first = tab({ experiment: "e1" }, undefined, "7");
    await settle();
    last().opens();
    last().sends("experiment", { id: "e1" }, "12");
    const later = tab({ experiment: "e1" }, undefined, "10");
    await vi.advanceTimersByTimeAsync(5);
    last().sends("experiment", { id: "e1" }, "13"); // before the connection is opened anew
    await settle();
    expect(open().map(({ url }) => url)).toEqual(["/api/v1/events?experiment=e1&after=10"]);
    last().opens();
    last().sends("heartbeat", {}, "10");
    last().sends("experiment", { id: "e1" }, "12");
    await settle();
    expect(later.stream.connection()).toBe("live");
    expect([...new Set([...first.heard, ...later.heard])]).toEqual(["experiment"]);
    expect(later.heard.length).toBeGreaterThan(0);
  });

  it("that come much later fetch all again, alone", async () => {
    const first = tab({}, undefined, "7");
    await settle();
    last().opens();
    last().sends("experiment", { id: "e1" }, "2000");
    const later = tab({}, undefined, "8");
    await settle();
    expect([first.heard, later.heard]).toEqual([["experiment"], ["reset"]]);
    expect(opened).toHaveLength(1);
  });

  it("miss nothing that happens between what they ask for and the connection that tells of it", async () => {
    tab({ experiment: "e1" }, undefined, "7");
    await settle();
    last().opens();
    tab({ experiment: "e2" }, undefined, "7");
    await vi.advanceTimersByTimeAsync(5);
    last().sends("experiment", { id: "e1" }, "9"); // 8 was of e2
    await settle();
    expect(open().map(({ url }) => url)).toEqual(["/api/v1/events?experiment=e1&experiment=e2&after=7"]);
  });

  it("leave no connection behind when the last one goes", async () => {
    const only = tab({});
    await settle();
    last().opens();
    only.stream.close();
    await settle();
    expect(open()).toEqual([]);
  });
});

describe("an outage", () => {
  it("is seen by every tab, and over for all with one new connection", async () => {
    const all = [tab({}), tab({ experiment: "e1" }), tab({ run: "r1" })];
    await settle();
    last().opens();
    last().sends("heartbeat", {}, "7");
    await settle();
    last().breaks(true);
    await settle();
    expect(all.map(({ stream }) => stream.connection())).toEqual(Array(3).fill("reconnecting"));
    await vi.advanceTimersByTimeAsync(600);
    expect(open().map(({ url }) => url)).toEqual(["/api/v1/events?after=7"]);
    last().opens();
    await settle();
    expect(all.map(({ stream }) => stream.connection())).toEqual(Array(3).fill("live"));
  });

  it("without a sign is noticed by the silence", async () => {
    const one = tab({});
    await settle();
    last().opens();
    await settle();
    await vi.advanceTimersByTimeAsync(SILENCE);
    expect(one.stream.connection()).toBe("reconnecting");
    await vi.advanceTimersByTimeAsync(600);
    expect(open()).toHaveLength(1);
    expect(opened).toHaveLength(2);
  });

  it("after which the server has less is followed by all, also where a new page comes before the connection", async () => {
    const first = tab({}, undefined, "100");
    await settle();
    last().opens();
    last().sends("heartbeat", {}, "100");
    await settle();
    last().breaks(false); // a backup is restored
    const later = tab({}, undefined, "80");
    await settle();
    expect(opened).toHaveLength(1); // the browser asks by itself, after 100
    last().opens();
    last().sends("reset", {}, "80");
    await settle();
    expect(first.heard).toEqual(["reset"]);
    expect(later.heard).toContain("reset");
  });

  it("whose connection hangs is over with one new one once the server answers, however many tabs there are", async () => {
    const answering = () => Promise.resolve(true);
    const all = [tab({}, answering), tab({ run: "r1" }, answering)];
    await settle();
    last().opens();
    await settle();
    last().breaks(false); // the browser tries by itself, in vain
    await vi.advanceTimersByTimeAsync(OPENING + 100);
    expect(opened).toHaveLength(2);
    expect(open()).toHaveLength(1);
    last().opens();
    await settle();
    expect(all.map(({ stream }) => stream.connection())).toEqual(["live", "live"]);
  });

  it("is not prolonged by a tab that joins while a connection is being opened", async () => {
    tab({});
    await settle();
    tab({ run: "r1" });
    await settle();
    expect(opened).toHaveLength(1);
  });
});
