import { render, screen, waitFor } from "@testing-library/react";
import { EventSource } from "eventsource";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { EventStream } from "@/lib/events/event-stream";
import type { StreamEvent } from "@/lib/events/stream-event";
import { StreamContext, useConnection, useStream } from "@/lib/events/use-stream";
import { apiServer } from "../support/server";

const server = apiServer();
beforeEach(() => void server.letStreams());

/** A stream over the real server, which waits a hundredth of what a browser waits. */
function connect() {
  const stream = new EventStream(
    `${server.url}/api/v1/events`,
    (url) => new EventSource(url),
    () => -0.98, // of the delay of half a second, a hundredth
  );
  onTestFinished(() => stream.close());
  const heard: StreamEvent[] = [];
  const listen = (topic: { experiment?: string; run?: string } = {}) =>
    stream.subscribe(topic, (event) => heard.push(event));
  const kinds = () => heard.map((event) => event.kind);
  return { stream, heard, kinds, listen };
}

const open = (count = 1) => waitFor(() => expect(server.listening()).toBe(count));
const live = (stream: EventStream) => waitFor(() => expect(stream.connection()).toBe("live"));
const run = (state: string) => ({ id: "run_1", experiment_id: "exp_7", state, attempt: 1 });

describe("over a real connection", () => {
  it("hears what the server sends, and asks for nothing but what somebody listens to", async () => {
    const { stream, heard, listen } = connect();
    listen({ experiment: "exp_7" });
    await live(stream);
    server.send("run", run("running"), 1);
    server.send("points", { id: "run_1", experiment_id: "exp_7", samples: 500, accuracy: 0.5 }, 2);
    await waitFor(() => expect(heard).toHaveLength(3));
    expect(heard).toEqual([
      { kind: "reset" },
      { kind: "run", id: "run_1", experiment: "exp_7", state: "running", attempt: 1 },
      {
        kind: "points",
        id: "run_1",
        experiment: "exp_7",
        samples: 500,
        accuracy: 0.5,
        loss: null,
        clock: null,
      },
    ]);
    expect(server.streams.map(({ query }) => query.toString())).toEqual(["experiment=exp_7"]);
  });

  it("comes back by itself after a break, after the last position, and misses nothing", async () => {
    const { stream, kinds, listen } = connect();
    listen();
    await live(stream);
    server.send("experiment", { id: "exp_7" }, 41);
    await waitFor(() => expect(kinds()).toContain("experiment"));
    const states: string[] = [];
    stream.watch(() => states.push(stream.connection()));
    server.breakStreams();
    await waitFor(() => expect(states).toEqual(["reconnecting", "live"]));
    expect(server.streams).toHaveLength(2);
    expect(server.streams[1]?.headers["last-event-id"]).toBe("41");
    server.send("run", run("succeeded"), 42);
    await waitFor(() => expect(kinds()).toEqual(["reset", "experiment", "run"]));
  });

  it("tries again after a refusal, until it is let in, with its position in the address", async () => {
    const { stream, kinds, listen } = connect();
    const leave = listen();
    await live(stream);
    server.send("experiment", { id: "exp_7" }, 7);
    await waitFor(() => expect(kinds()).toContain("experiment"));
    server.refuseStream = 503;
    server.breakStreams();
    await waitFor(() => expect(server.streams.length).toBeGreaterThan(3));
    expect(stream.connection()).toBe("reconnecting");
    server.refuseStream = undefined;
    await live(stream);
    expect(server.streams.at(-1)?.query.get("after")).toBe("7");
    leave();
  });

  it("is not disturbed by heartbeats, by kinds it does not know, or by what is no JSON", async () => {
    const { stream, kinds, listen } = connect();
    listen();
    await live(stream);
    server.write(": heartbeat\n\n");
    server.send("weather", { id: "sun" }, 1);
    server.write("id: 2\nevent: run\ndata: {no\n\n");
    server.write("id: 3\nevent: logs\ndata: {}\n\n"); // of no run
    server.send("clusters", {}, 4);
    await waitFor(() => expect(kinds()).toEqual(["reset", "clusters"]));
    expect(stream.connection()).toBe("live");
  });

  it("reads events that arrive in pieces, and many at once", async () => {
    const { stream, heard, listen } = connect();
    listen();
    await live(stream);
    server.write("id: 1\nevent: exper");
    await new Promise((done) => setTimeout(done, 20));
    server.write('iment\ndata: {"id": "exp_1"}\n\nid: 2\nevent: experiment\ndata: {"id": "exp_2"}\n\n');
    await waitFor(() => expect(heard).toHaveLength(3));
    expect(heard.slice(1)).toEqual([
      { kind: "experiment", id: "exp_1" },
      { kind: "experiment", id: "exp_2" },
    ]);
  });

  it("has one connection for all that listen, and another when they change", async () => {
    const { stream, kinds, listen } = connect();
    const leave = listen({ run: "run_1" });
    listen({ experiment: "exp_7" });
    await live(stream);
    await open(1);
    server.send("experiment", { id: "exp_7" }, 5);
    await waitFor(() => expect(kinds()).toContain("experiment"));
    leave();
    await waitFor(() => expect(server.streams).toHaveLength(2));
    await open(1);
    expect(server.streams.map(({ query }) => query.toString())).toEqual([
      "experiment=exp_7&run=run_1",
      "experiment=exp_7&after=5",
    ]);
  });
});

function Heard({ id }: { id: string }) {
  const connection = useConnection();
  const seen: string[] = [];
  useStream({ run: id }, (event) => seen.push(event.kind));
  return <p>{connection}</p>;
}

describe("in a component", () => {
  it("shows the state of the connection, follows another run, and ends with it", async () => {
    const { stream } = connect();
    const page = (id: string) => (
      <StreamContext value={stream}>
        <Heard id={id} />
      </StreamContext>
    );
    const view = render(page("run_1"));
    expect(screen.getByText("connecting")).toBeVisible();
    expect(await screen.findByText("live")).toBeVisible();
    view.rerender(page("run_2"));
    await waitFor(() => expect(server.streams.at(-1)?.query.get("run")).toBe("run_2"));
    await open(1);
    server.refuseStream = 503;
    server.breakStreams();
    expect(await screen.findByText("reconnecting")).toBeVisible();
    server.refuseStream = undefined;
    expect(await screen.findByText("live")).toBeVisible();
  });

  it("says what is missing where nobody provides a stream", () => {
    expect(() => render(<Heard id="run_1" />)).toThrow("StreamContext must be provided");
  });
});
