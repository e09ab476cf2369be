import { InfiniteQueryObserver, QueryObserver } from "@tanstack/react-query";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { makeQueryClient } from "@/app/query-client";

const queryKey = ["tokens"];
const EVENT = { cancelRefetch: false };
/** What follows is another turn of the browser's loop. */
const turn = () => new Promise((done) => setTimeout(done));

/** Answers that come when they are told. */
function asked() {
  const queries = makeQueryClient();
  onTestFinished(() => queries.clear());
  const answers: ((list: string) => void)[] = [];
  const queryFn = () => new Promise<string>((done) => void answers.push(done));
  return { queries, answers, queryFn };
}

/** A list that somebody shows, whose first answer is on its way. */
function shown() {
  const { queries, answers, queryFn } = asked();
  const observer = new QueryObserver(queries, { queryKey, queryFn });
  onTestFinished(observer.subscribe(() => undefined));
  return { queries, answers, observer, data: () => observer.getCurrentResult().data };
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
    { of: "an event", filters: { queryKey }, options: EVENT },
    { of: "what only marks it", filters: { queryKey, refetchType: "none" as const }, options: {} },
  ])("goes on in spite of $of, is shown, and is asked for once more", async ({ filters, options }) => {
    const { queries, answers, data } = shown();
    await turn();
    const done = queries.invalidateQueries(filters, options);
    await turn();
    expect(answers).toHaveLength(1);
    answers[0]?.("without the new one");
    await vi.waitFor(() => expect(answers).toHaveLength(2));
    expect(data()).toBe("without the new one");
    answers[1]?.("with the new one");
    await done;
    expect(data()).toBe("with the new one");
    await turn();
    expect(answers).toHaveLength(2);
  });

  it("is asked for once, where many events come", async () => {
    const { queries, answers, data } = shown();
    await turn();
    const done = [1, 2, 3].map(() => queries.invalidateQueries({ queryKey }, EVENT));
    answers[0]?.("old");
    await vi.waitFor(() => expect(answers).toHaveLength(2));
    answers[1]?.("new");
    await Promise.all(done);
    await turn();
    expect([data(), answers.length]).toEqual(["new", 2]);
  });

  it("is asked for once more as soon as it is answered, and not again when all else is", async () => {
    const { queries, answers, data } = shown();
    let end: (list: string) => void = () => undefined;
    const late = () => new Promise<string>((done) => (end = done));
    const other = new QueryObserver(queries, { queryKey: ["late"], queryFn: late });
    onTestFinished(other.subscribe(() => undefined));
    await turn();
    void queries.invalidateQueries({ refetchType: "none" }); // of all
    void queries.invalidateQueries({ queryKey }, EVENT);
    answers[0]?.("old");
    await vi.waitFor(() => expect(answers).toHaveLength(2));
    answers[1]?.("new");
    await vi.waitFor(() => expect(data()).toBe("new"));
    end("late");
    await turn();
    await turn();
    expect([data(), answers.length]).toEqual(["new", 2]);
  });

  it("goes on where something else has changed", async () => {
    const { queries, answers, data } = shown();
    await turn();
    for (const options of [{}, EVENT]) await queries.invalidateQueries({ queryKey: ["users"] }, options);
    answers[0]?.("the list");
    await vi.waitFor(() => expect(data()).toBe("the list"));
    await turn();
    expect(answers).toHaveLength(1);
  });

  it("that nobody shows yet is asked for once more when somebody does", async () => {
    const { queries, answers, queryFn } = asked();
    const fetched = queries.prefetchQuery({ queryKey, queryFn });
    await turn();
    void queries.invalidateQueries({ queryKey, type: "inactive", refetchType: "none" });
    answers[0]?.("old");
    await fetched;
    await turn();
    expect(answers).toHaveLength(1);
    onTestFinished(new QueryObserver(queries, { queryKey, queryFn }).subscribe(() => undefined));
    expect(answers).toHaveLength(2);
  });

  it("that somebody shows before it is answered is asked for once more then", async () => {
    const { queries, answers, queryFn } = asked();
    void queries.prefetchQuery({ queryKey, queryFn });
    await turn();
    void queries.invalidateQueries({ queryKey, type: "inactive", refetchType: "none" });
    onTestFinished(new QueryObserver(queries, { queryKey, queryFn }).subscribe(() => undefined));
    expect(answers).toHaveLength(1);
    answers[0]?.("old");
    await vi.waitFor(() => expect(answers).toHaveLength(2));
  });
});

describe("what an event tells of", () => {
  it("while it is read again, by the focus of the window, is read once more", async () => {
    const { queries, answers, observer, data } = shown();
    answers[0]?.("first");
    await vi.waitFor(() => expect(data()).toBe("first"));
    void observer.refetch();
    await turn();
    const done = queries.invalidateQueries({ queryKey }, EVENT);
    answers[1]?.("old");
    await vi.waitFor(() => expect(answers).toHaveLength(3));
    answers[2]?.("new");
    await done;
    expect(data()).toBe("new");
  });

  it("is read once for two who ask for it at that event", async () => {
    const { queries, answers, data } = shown();
    answers[0]?.("old");
    await vi.waitFor(() => expect(data()).toBe("old"));
    const done = [1, 2].map(() => queries.invalidateQueries({ queryKey }, EVENT));
    answers[1]?.("new");
    await Promise.all(done);
    await turn();
    expect([data(), answers.length]).toEqual(["new", 2]);
  });

  /** A list whose first page is shown, and what is read of it. */
  async function list() {
    const { queries, answers, queryFn } = asked();
    const observer = new InfiniteQueryObserver(queries, {
      ...{ queryKey, queryFn, initialPageParam: 0 },
      getNextPageParam: (_, pages) => pages.length,
    });
    onTestFinished(observer.subscribe(() => undefined));
    const pages = () => observer.getCurrentResult().data?.pages;
    answers[0]?.("first");
    await vi.waitFor(() => expect(pages()).toEqual(["first"]));
    return { queries, answers, observer, pages };
  }

  it("while the next page of a list is read, is looked for in all of its pages then", async () => {
    const { queries, answers, observer, pages } = await list();
    void observer.fetchNextPage();
    await turn();
    const done = queries.invalidateQueries({ queryKey }, EVENT);
    answers[1]?.("second");
    await vi.waitFor(() => expect(answers).toHaveLength(3));
    expect(pages()).toEqual(["first", "second"]);
    answers[2]?.("first, changed");
    await vi.waitFor(() => expect(answers).toHaveLength(4));
    answers[3]?.("second, changed");
    await done;
    expect(pages()).toEqual(["first, changed", "second, changed"]);
  });

  it("is looked for again where somebody asks for the next page meanwhile", async () => {
    const { queries, answers, observer, pages } = await list();
    void queries.invalidateQueries({ queryKey }, EVENT);
    await turn();
    void observer.fetchNextPage();
    await vi.waitFor(() => expect(answers).toHaveLength(3));
    answers[2]?.("second");
    await vi.waitFor(() => expect(answers).toHaveLength(4));
    expect(pages()).toEqual(["first", "second"]);
    answers[3]?.("first, changed");
    await vi.waitFor(() => expect(answers).toHaveLength(5));
    answers[4]?.("second");
    await vi.waitFor(() => expect(pages()).toEqual(["first, changed", "second"]));
    await turn();
    expect(answers).toHaveLength(5);
  });
});

it("what nobody shows any more is read again when it is shown again, however new it is", async () => {
  const { queries, answers, queryFn } = asked();
  const shows = () => {
    const observer = new QueryObserver(queries, { queryKey, queryFn });
    return { observer, leave: observer.subscribe(() => undefined) };
  };
  const [first, second] = [shows(), shows()];
  answers[0]?.("old");
  await vi.waitFor(() => expect(first.observer.getCurrentResult().data).toBe("old"));
  first.leave();
  const third = shows(); // somebody has shown it all the time
  expect(answers).toHaveLength(1);
  second.leave();
  third.leave();
  const { observer, leave } = shows();
  onTestFinished(leave);
  expect(observer.getCurrentResult().data).toBe("old");
  expect(answers).toHaveLength(2);
});

it("what is valid for a time of its own is read again after that, and not when it is shown again", async () => {
  const { queries, answers, queryFn } = asked();
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const show = () =>
    new QueryObserver(queries, { queryKey, queryFn, staleTime: 60_000 }).subscribe(() => undefined);
  const leave = show();
  answers[0]?.("judged");
  await vi.advanceTimersByTimeAsync(30_000);
  leave();
  show()();
  expect(answers).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(30_001);
  onTestFinished(show());
  expect(answers).toHaveLength(2);
});
