/** What a page reads for the first time, while its event stream opens: once, and once more what an event tells of that is in no answer yet. */
import { waitFor } from "@testing-library/react";
import { EventSource } from "eventsource";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeQueryClient } from "@/app/query-client";
import { EventStream } from "@/lib/events/event-stream";
import { answerExperiment, bands } from "../experiment/page";
import { openApp } from "../support/app";
import { run } from "../support/fixtures/run";
import { apiServer } from "../support/server";

const server = apiServer();
const NONE = { items: [], next_cursor: null };
const LOG = { lines: [], more: false, next_after: 0 };

/** A stream that begins where the events were when the page was sent, or wherever it opens. */
function streamFrom(position = "") {
  const stream = new EventStream(`${server.url}/api/v1/events`, (url) => new EventSource(url));
  stream.beginAfter(position);
  onTestFinished(() => stream.close());
  return stream;
}

/** What a page has asked for so far, each request as often as it was sent. */
const asked = () =>
  server.asked.map(({ operation, path, query, body }) =>
    [operation, path, `${query}`, JSON.stringify(body)].join(" "),
  );

describe("where the page tells how far the events are", () => {
  it.each([
    { address: "/", operation: "GET /experiments", kind: "experiment", data: { id: "exp_7" } },
    {
      address: "/experiments/exp_7",
      operation: "GET /experiments/*",
      kind: "experiment",
      data: { id: "exp_7" },
    },
    {
      address: "/runs/run_21",
      operation: "GET /runs/*",
      kind: "run",
      data: { id: "run_21", experiment_id: "exp_7", state: "running", attempt: 1 },
    },
  ] as const)("$address reads all once, and again what has happened since", async (opens) => {
    answerExperiment(server);
    server.on("GET /experiments", NONE).on("GET /runs/*", run()).on("GET /runs/*/logs", LOG);
    const stream = streamFrom("7");
    const { idle, live } = openApp(server, opens.address, { queries: makeQueryClient(), stream });
    await waitFor(() => expect(server.askedFor(opens.operation)).toHaveLength(1));
    await idle();
    await live();
    const first = asked();
    expect(first.filter((each, n) => first.indexOf(each) < n)).toEqual([]);
    expect(server.streams.map(({ query }) => query.get("after"))).toEqual(server.streams.map(() => "7"));
    server.send(opens.kind, opens.data, 8); // as the server does at once with what happened meanwhile
    await waitFor(() => expect(server.askedFor(opens.operation)).toHaveLength(2));
  });
});

it.each([
  { what: "the list of experiments", address: "/", operation: "GET /experiments", answer: NONE },
  { what: "what is deleted", address: "/?show=deleted", operation: "GET /deleted-experiments", answer: NONE },
  { what: "found runs", address: "/runs", operation: "GET /runs", answer: NONE },
  { what: "curves", address: "/experiments/exp_7", operation: "GET /experiments/*/bands", answer: bands() },
  { what: "a log", address: "/runs/run_21", operation: "GET /runs/*/logs", answer: LOG },
] as const)("$what", async ({ address, operation, answer }) => {
  answerExperiment(server);
  server.on("GET /experiments", NONE).on("GET /runs/*", run()).on("GET /runs/*/logs", LOG);
  let give: (first: typeof answer) => void = () => undefined;
  let first: Promise<typeof answer> | undefined = new Promise((done) => (give = done));
  server.on(operation, (() => {
    const now = first ?? answer;
    first = undefined;
    return now;
  }) as never);
  const stream = streamFrom();
  const queries = makeQueryClient();
  openApp(server, address, { queries, stream });
  await waitFor(() => expect(server.askedFor(operation)).toHaveLength(1));
  server.letStreams();
  await waitFor(() => expect(stream.connection()).toBe("live"));
  expect(server.askedFor(operation)).toHaveLength(1);
  give(answer);
  await waitFor(() => expect(server.askedFor(operation).length).toBeGreaterThan(1));
});
