/** What an event tells of while a page reads it for the first time is in no answer yet: it is read once more. */
import { waitFor } from "@testing-library/react";
import { EventSource } from "eventsource";
import { expect, it, onTestFinished } from "vitest";
import { makeQueryClient } from "@/app/query-client";
import { EventStream } from "@/lib/events/event-stream";
import { answerExperiment, bands } from "../experiment/page";
import { openApp } from "../support/app";
import { run } from "../support/fixtures/run";
import { apiServer } from "../support/server";

const server = apiServer();
const NONE = { items: [], next_cursor: null };
const LOG = { lines: [], more: false, next_after: 0 };

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
  const stream = new EventStream(`${server.url}/api/v1/events`, (url) => new EventSource(url));
  const queries = makeQueryClient();
  onTestFinished(() => stream.close());
  openApp(server, address, { queries, stream });
  await waitFor(() => expect(server.askedFor(operation)).toHaveLength(1));
  server.letStreams();
  await waitFor(() => expect(stream.connection()).toBe("live"));
  expect(server.askedFor(operation)).toHaveLength(1);
  give(answer);
  await waitFor(() => expect(server.askedFor(operation).length).toBeGreaterThan(1));
});
