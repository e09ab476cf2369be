/** What is asked for while the code of a page is on its way. */
import { screen, waitFor } from "@testing-library/react";
import { EventSource } from "eventsource";
import { expect, it, onTestFinished } from "vitest";
import { makeQueryClient } from "@/app/query-client";
import { askEarly } from "@/features/experiment/ask-early";
import { EventStream } from "@/lib/events/event-stream";
import { openApp } from "../support/app";
import { experiment } from "../support/fixtures/experiment";
import { apiServer } from "../support/server";
import { answerExperiment, openExperiment } from "./page";

const server = apiServer();

function begin() {
  const queries = makeQueryClient();
  const stream = new EventStream(`${server.url}/api/v1/events`, (url) => new EventSource(url));
  onTestFinished(() => {
    stream.close();
    queries.clear();
  });
  return { queries, stream };
}
const READ = ["GET /experiments/*", "GET /experiments/*/comparison", "GET /experiments/*/bands"] as const;
const counts = () => READ.map((one) => server.askedFor(one).length);

it("the page of an experiment finds what was asked for, and asks for nothing of it again", async () => {
  answerExperiment(server);
  const { queries, stream } = begin();
  stream.subscribe({ experiment: "exp_7" }, () => undefined);
  server.letStreams();
  await waitFor(() => expect(stream.connection()).toBe("live")); // nothing is answered before
  askEarly({ pathname: "/experiments/exp_7", search: "?axis=samples&more=train_loss" }, stream, queries);
  await waitFor(() => expect(queries.isFetching()).toBe(0));
  expect(counts()).toEqual([1, 1, 1]);
  expect(server.askedFor(READ[2])[0]?.query.get("axis")).toBe("samples");
  await openExperiment(server, "/experiments/exp_7?axis=samples", { queries, stream });
  expect(counts()).toEqual([1, 1, 1]);
});

it("what was answered before events came is asked for anew when it is shown", async () => {
  answerExperiment(server);
  server.on("GET /experiments/*", experiment({ name: "Before" }));
  const { queries, stream } = begin();
  askEarly({ pathname: "/experiments/exp_7", search: "" }, stream, queries);
  await waitFor(() => expect(queries.isFetching()).toBe(0));
  server.letStreams();
  await waitFor(() => expect(stream.connection()).toBe("live"));
  server.on("GET /experiments/*", experiment({ name: "Now" }));
  server.send("reset", {}, 9);
  await waitFor(() =>
    expect(queries.getQueryCache().findAll({ predicate: ({ state }) => state.isInvalidated })).toHaveLength(
      3,
    ),
  );
  openApp(server, "/experiments/exp_7", { queries, stream });
  expect(await screen.findByRole("heading", { name: "Now" })).toBeVisible();
});

it("what changes while the code of the page is on its way is asked for anew when it is shown", async () => {
  answerExperiment(server);
  server.on("GET /experiments/*", experiment({ name: "Before" }));
  const { queries, stream } = begin();
  stream.subscribe({ experiment: "exp_7" }, () => undefined);
  server.letStreams();
  await waitFor(() => expect(stream.connection()).toBe("live"));
  askEarly({ pathname: "/experiments/exp_7", search: "" }, stream, queries);
  await waitFor(() => expect(queries.isFetching()).toBe(0));
  server.on("GET /experiments/*", experiment({ name: "Now" }));
  server.send("experiment", { id: "exp_7" }, 9);
  await waitFor(() =>
    expect(queries.getQueryCache().findAll({ predicate: ({ state }) => state.isInvalidated })).toHaveLength(
      3,
    ),
  );
  openApp(server, "/experiments/exp_7", { queries, stream });
  expect(await screen.findByRole("heading", { name: "Now" })).toBeVisible();
});

it("other pages ask for nothing early", () => {
  const { queries, stream } = begin();
  for (const pathname of ["/", "/experiments", "/experiments/exp_7/x", "/runs/run_1"])
    askEarly({ pathname, search: "" }, stream, queries);
  expect(queries.isFetching()).toBe(0);
});
