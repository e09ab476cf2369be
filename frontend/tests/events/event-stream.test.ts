import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EventStream, SILENCE, UNASKED } from "@/lib/events/event-stream";
import type { StreamEvent } from "@/lib/events/stream-event";
import { FakeSource } from "../support/fake-source";

let opened: FakeSource[] = [];
let stream: EventStream;
const last = () => opened.at(-1) as FakeSource;
const turn = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers();
  opened = [];
  stream = new EventStream(
    "/api/v1/events",
    (url) => {
      const source = new FakeSource(url);
      opened.push(source);
      return source;
    },
    () => 1,
  );
});
afterEach(() => {
  stream.close();
  vi.useRealTimers();
});

describe("subscriptions", () => {
  it("open one connection for all that listen", async () => {
    stream.subscribe({ experiment: "e1" }, () => undefined);
    stream.subscribe({ run: "r1" }, () => undefined);
    stream.subscribe({ experiment: "e1" }, () => undefined);
    await turn();
    expect(opened.map((source) => source.url)).toEqual(["/api/v1/events?experiment=e1&run=r1"]);
  });

  it("are everything as soon as one wants everything", async () => {
    stream.subscribe({ experiment: "e1" }, () => undefined);
    stream.subscribe({}, () => undefined);
    await turn();
    expect(last().url).toBe("/api/v1/events");
  });

  it("open anew after the last position when they change, and only then", async () => {
    const leave = stream.subscribe({ experiment: "e1" }, () => undefined);
    await turn();
    last().opens();
    last().sends("experiment", { id: "e1" }, "41");
    leave();
    stream.subscribe({ experiment: "e2" }, () => undefined);
    await turn();
    expect(opened).toHaveLength(2);
    expect(opened[0]?.readyState).toBe(2);
    expect(last().url).toBe("/api/v1/events?experiment=e2&after=41");
    stream.subscribe({ experiment: "e2" }, () => undefined);
    await turn();
    expect(opened).toHaveLength(2);
  });

  it("are none on a page that listens to nothing, which is connected all the same, once", async () => {
    const leave = stream.keep();
    await vi.advanceTimersByTimeAsync(UNASKED - 1);
    expect(opened).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(opened.map((source) => source.url)).toEqual(["/api/v1/events"]);
    stream.keep();
    await vi.advanceTimersByTimeAsync(UNASKED);
    expect(opened).toHaveLength(1);
    leave();
  });

  it("come before the connection of a page that listens to nothing", async () => {
    stream.keep();
    stream.subscribe({ run: "r1" }, () => undefined);
    await vi.advanceTimersByTimeAsync(2 * UNASKED);
    expect(opened.map((source) => source.url)).toEqual(["/api/v1/events?run=r1"]);
  });

  it("hear what concerns them", async () => {
    const heard: StreamEvent[] = [];
    stream.subscribe({ experiment: "e1" }, (event) => heard.push(event));
    await turn();
    last().sends("run", { id: "r1", experiment_id: "e1", state: "running", attempt: 1 }, "1");
    last().sends("run", { id: "r2", experiment_id: "e2", state: "running", attempt: 1 }, "2");
    last().sends("points", { experiment_id: "e1" }, "3"); // no id: useless
    last().sends("clusters", {}, "4");
    expect(heard).toEqual([
      { kind: "run", id: "r1", experiment: "e1", state: "running", attempt: 1 },
      { kind: "clusters" },
    ]);
  });
});

describe("connection", () => {
  it("tells listeners to fetch again where it began without a position", async () => {
    const heard: string[] = [];
    stream.subscribe({}, (event) => heard.push(event.kind));
    await turn();
    last().opens();
    expect(heard).toEqual(["reset"]);
    last().sends("experiment", { id: "e1" }, "7");
    last().breaks(false); // EventSource resumes by itself, with Last-Event-ID
    last().opens();
    expect(heard).toEqual(["reset", "experiment"]);
  });

  it("begins where the events were when the page was sent, and tells nobody to fetch again", async () => {
    const heard: string[] = [];
    stream.beginAfter("7");
    const leave = stream.subscribe({}, (event) => heard.push(event.kind));
    await turn();
    expect(last().url).toBe("/api/v1/events?after=7");
    last().opens();
    last().sends("heartbeat", {}, "7");
    expect(heard).toEqual([]);
    last().sends("experiment", { id: "e1" }, "8"); // it happened before the stream was open
    expect(heard).toEqual(["experiment"]);
    stream.beginAfter("7"); // it is further already
    leave();
    stream.subscribe({ run: "r1" }, () => undefined);
    await turn();
    expect(last().url).toBe("/api/v1/events?run=r1&after=8");
  });

  it("passes on the server's reset", async () => {
    const heard: string[] = [];
    stream.subscribe({ run: "r1" }, (event) => heard.push(event.kind));
    await turn();
    last().sends("reset", {}, "99");
    expect(heard).toEqual(["reset"]);
  });

  it("comes back after a refusal, later each time, after the last position", async () => {
    stream.subscribe({}, () => undefined);
    await turn();
    last().opens();
    last().sends("experiment", { id: "e1" }, "12");
    last().breaks(true);
    expect(stream.connection()).toBe("reconnecting");
    await vi.advanceTimersByTimeAsync(499);
    expect(opened).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(last().url).toBe("/api/v1/events?after=12");
    last().breaks(true);
    await vi.advanceTimersByTimeAsync(999);
    expect(opened).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(opened).toHaveLength(3);
    last().opens();
    expect(stream.connection()).toBe("live");
  });

  it("says when it changes, until nobody watches", async () => {
    const watcher = vi.fn();
    const leave = stream.watch(watcher);
    stream.subscribe({}, () => undefined);
    await turn();
    last().opens();
    last().breaks(false);
    expect(watcher).toHaveBeenCalledTimes(2);
    leave();
    last().opens();
    expect(watcher).toHaveBeenCalledTimes(2);
  });
});

describe("a connection that breaks without a sign", () => {
  it("is taken for broken after a silence, not while heartbeats come, and is opened anew after the last position", async () => {
    stream.subscribe({}, () => undefined);
    await turn();
    last().opens();
    await vi.advanceTimersByTimeAsync(SILENCE - 1);
    last().sends("heartbeat", {}, "9");
    await vi.advanceTimersByTimeAsync(SILENCE - 1);
    expect(stream.connection()).toBe("live");
    await vi.advanceTimersByTimeAsync(1);
    expect(stream.connection()).toBe("reconnecting");
    expect(stream.lastHeard()).toBe(Date.now() - SILENCE);
    await vi.advanceTimersByTimeAsync(500);
    expect(opened).toHaveLength(2);
    expect(opened[0]?.readyState).toBe(2);
    expect(last().url).toBe("/api/v1/events?after=9");
  });

  it("is noticed at once when the computer wakes", async () => {
    stream.subscribe({}, () => undefined);
    await turn();
    last().opens();
    stream.wake();
    expect(opened).toHaveLength(1); // it was heard of just now
    vi.setSystemTime(Date.now() + SILENCE); // timers stood still meanwhile
    stream.wake();
    expect(stream.connection()).toBe("reconnecting");
    expect(opened).toHaveLength(2);
  });
});

describe("without a network", () => {
  let online = true;
  let there = false;
  const lonely = () => {
    const open = (url: string) => {
      opened.push(new FakeSource(url));
      return last();
    };
    const found = new EventStream(
      "/events",
      open,
      () => 1,
      () => online,
      () => Promise.resolve(there),
    );
    found.subscribe({}, () => undefined);
    return found;
  };

  it("says that it is offline, and goes on when the network is back", async () => {
    const lone = lonely();
    await turn();
    last().opens();
    online = false;
    lone.wake();
    expect(lone.connection()).toBe("offline");
    await vi.advanceTimersByTimeAsync(5000);
    expect(opened).toHaveLength(1);
    expect(opened[0]?.readyState).toBe(2);
    online = true;
    lone.wake();
    expect(opened).toHaveLength(2);
    last().opens();
    expect(lone.connection()).toBe("live");
    lone.close();
  });

  it("stays live with a server on the same computer", async () => {
    online = false;
    there = true;
    const lone = lonely();
    await turn();
    last().opens();
    expect(lone.connection()).toBe("live");
    lone.close();
    online = true;
  });
});
