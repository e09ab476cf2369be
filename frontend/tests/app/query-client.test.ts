import { QueryObserver } from "@tanstack/react-query";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { makeQueryClient } from "@/app/query-client";

const queryKey = ["tokens"];

/** A list that somebody shows, whose first answer is on its way; each answer comes when it is told. */
function shown() {
  const queries = makeQueryClient();
  const answers: ((list: string) => void)[] = [];
  const queryFn = () => new Promise<string>((done) => void answers.push(done));
  const observer = new QueryObserver(queries, { queryKey, queryFn });
  onTestFinished(observer.subscribe(() => undefined));
  onTestFinished(() => queries.clear());
  return { queries, answers, data: () => observer.getCurrentResult().data };
}

describe("a first load that is on its way", () => {
  it("is begun anew by who has changed what it asks for", async () => {
    const { queries, answers, data } = shown();
    const done = queries.invalidateQueries({ queryKey });
    await vi.waitFor(() => expect(answers).toHaveLength(2));
    answers[0]?.("without the new one");
    answers[1]?.("with the new one");
    await done;
    expect(data()).toBe("with the new one");
  });

  it.each([
    { of: "an event", filters: { queryKey }, options: { cancelRefetch: false } },
    { of: "what only marks it", filters: { queryKey, refetchType: "none" as const }, options: {} },
    { of: "a change of something else", filters: { queryKey: ["users"] }, options: {} },
  ])("goes on in spite of $of", async ({ filters, options }) => {
    const { queries, answers, data } = shown();
    const done = queries.invalidateQueries(filters, options);
    answers[0]?.("the list");
    await done;
    await vi.waitFor(() => expect(data()).toBe("the list"));
    expect(answers).toHaveLength(1);
  });
});
