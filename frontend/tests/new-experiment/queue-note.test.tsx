import { screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { queueWords, startWords } from "@/features/new-experiment/queue-note";
import type { QueueEntryView, QueueView, SpanView } from "@/lib/client/types.gen";
import { queueView, waiting } from "../support/fixtures/queue";
import { apiServer, Refusal } from "../support/server";
import { openForm, settled } from "./form";

const server = apiServer();
const NOW = new Date(2026, 4, 4, 12).getTime();
const at = (hour: number): SpanView => {
  const time = new Date(2026, 4, 4, hour).toISOString();
  return { at: time, earliest: time, latest: time };
};
const waits = (runs: number, ends: SpanView | null) => ({ runs, ends }) as QueueEntryView;
const queue = (changes: Partial<QueueView>) => queueView({ entries: [], active: [], ...changes });

it.each<[Partial<QueueView>, string]>([
  [{}, "queue empty"],
  [{ active: queueView().active }, "runs are active, queue empty"],
  [{ online: false }, "offline: starts no runs until its agent is back"],
  [{ drained: true, entries: [waits(3, null)] }, "drained: starts no runs"],
  [{ entries: [waits(1, at(14))] }, "1 experiment waits (1 run), the last ends about 14:00"],
  [
    { entries: [waits(1, at(16)), waits(5, at(15))] },
    "2 experiments wait (6 runs), the last ends about 16:00",
  ],
  [{ entries: [waits(1, at(14)), waits(5, null)] }, "2 experiments wait (6 runs), end unknown"],
])("of %j is said: %s", (changes, words) => {
  expect(queueWords(queue(changes), NOW)).toBe(words);
});

it("says when an experiment would start, and its place among those that wait", () => {
  const first = waiting({ position: 1, experiments_ahead: 0, starts: at(14) });
  expect(startWords(first, NOW)).toBe("starts about 14:00");
  expect(startWords({ ...first, starts: at(11) }, NOW)).toBe("starts now");
  expect(startWords({ ...first, reason: "next to start" }, NOW)).toBe("starts at once");
  expect(startWords({ ...first, experiments_ahead: 2 }, NOW)).toBe("starts about 14:00, 3rd in queue");
  expect(startWords({ ...first, starts: null }, NOW)).toBe("start unknown, 1st in queue");
});

it("the plan tells what waits where it would compute", async () => {
  server.on("GET /clusters/*/queue", queue({ entries: [waits(2, null)] }));
  await openForm(server);
  await settled();
  await waitFor(() =>
    expect(screen.getByTestId("plan-queues")).toHaveTextContent("local: 1 experiment waits (2 runs)"),
  );
  expect(server.askedFor("GET /clusters/*/queue")[0]?.path).toMatch(/\/clusters\/local\/queue$/);
});

it("the plan stands where a queue cannot be read", async () => {
  server.on("GET /clusters/*/queue", new Refusal(404, "no such cluster"));
  await openForm(server);
  await settled();
  await waitFor(() => expect(screen.getByTestId("plan-queues")).toHaveTextContent("could not be loaded"));
  expect(screen.getByTestId("plan-total")).toHaveTextContent("3 runs");
});
