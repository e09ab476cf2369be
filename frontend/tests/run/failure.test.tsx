import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { failureOf } from "@/features/run/failure";
import type { TransitionView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { experiment } from "../support/fixtures/experiment";
import { run, transition } from "../support/fixtures/run";
import { apiServer } from "../support/server";

const TRACE = ['  File "mine.py", line 3, in run', "    r.steps(0)", "ValueError: no steps"];
const WHY = ["rank 1 raised ValueError: no steps", ...TRACE].join("\n");

function failed(changes: Partial<TransitionView>, state: "failed_user" | "failed_infra" = "failed_user") {
  return run({ state, history: [transition("running", 1), transition(state, 9, { why: WHY, ...changes })] });
}

describe("a failure", () => {
  it("is the exception, where, and the quoted traceback apart from it", () => {
    expect(failureOf(failed({ rank: 1, host: "node3", exit_code: 3 }))).toEqual({
      cause: "ValueError: no steps",
      where: "rank 1 on node3, exit code 3",
      advice: expect.stringMatching(/Correct them, then clone the experiment/),
      quoted: TRACE.join("\n"),
      rank: 1,
    });
  });

  it.each<[Partial<TransitionView>, "failed_user" | "failed_infra", RegExp]>([
    [{ exit_code: 5 }, "failed_user", /diverged.*smaller learning rate/],
    [
      { why: "rank 0 raised hooke.errors.DataMissing: put x" },
      "failed_user",
      /workload.s data is not on local.*then retry the run\.$/,
    ],
    [{ signal: 9, why: "rank 0 on a was killed by SIGKILL (9)" }, "failed_infra", /too much memory/],
    [{ why: "mpirun ended with status 1" }, "failed_infra", /of the host, then retry the run\.$/],
  ])("%o comes with an advice", (changes, state, advice) => {
    expect(failureOf(failed(changes, state))?.advice).toMatch(advice);
  });

  it("of a run that gets no further attempt is advised to be cloned", () => {
    const view = failed({ why: "mpirun ended with status 1" }, "failed_infra");
    for (const one of [
      { ...view, rung: 0 },
      { ...view, host: "~elsewhere" },
    ])
      expect(failureOf(one)?.advice).toMatch(/then clone the experiment\.$/);
  });

  it("at its wall limit is told, and that it may have a longer one", () => {
    const why = "the wall limit was reached";
    const view = run({ state: "timed_out", history: [transition("timed_out", 9, { why })] });
    expect(failureOf(view)).toMatchObject({
      cause: "The wall limit was reached",
      advice: expect.stringMatching(/longer wall limit/),
    });
    const scheduled = transition("timed_out", 9, {
      why: "the time limit of the job; its ranks ended together",
    });
    expect(failureOf({ ...view, history: [scheduled] })?.advice).toMatch(
      /latest checkpoint, retry the run\.$/,
    );
  });

  it.each<[Partial<TransitionView>, string]>([
    [{ rank: 2 }, "rank 2"],
    [{ host: "node3" }, "on node3"],
    [{ host: "node3", signal: 9 }, "on node3, signal 9"],
    [{ rank: 0, host: "a", exit_code: 0, signal: 15 }, "rank 0 on a, exit code 0, signal 15"],
    [{}, ""],
  ])("%o tells where as far as it is known", (changes, where) => {
    expect(failureOf(failed(changes))?.where).toBe(where);
  });

  it.each([
    ["a rank raised KeyError: 'x'", "KeyError: 'x'"],
    ["rank 12 raised ValueError", "ValueError"],
    ["rank 1 raised and did not say what", "rank 1 raised and did not say what"],
    ["mpirun ended with status 1", "mpirun ended with status 1"],
    ["", ""],
  ])("%j is told as %j", (why, cause) => {
    expect(failureOf(failed({ why }))).toMatchObject({ cause, quoted: "" });
  });

  it("that was retried counts no more", () => {
    const view = failed({});
    expect(failureOf({ ...view, history: [...view.history, transition("running", 20)] })).toBeUndefined();
    expect(failureOf({ ...view, history: [] })).toBeUndefined();
  });

  it("is none where the run did not fail", () => {
    expect(failureOf(run())).toBeUndefined();
  });
});

const server = apiServer();

it("stands first on the page of a run, and its traceback only there, folded", async () => {
  server
    .on("GET /runs/*", failed({ rank: 1, host: "node3", exit_code: 3 }))
    .on("GET /experiments/*", experiment())
    .on("POST /series", { axis: "clock", unit: "s", series: [] })
    .on("GET /runs/*/logs", { lines: [], more: false, next_after: 0 });
  openApp(server, "/runs/run_21");
  const part = within(await screen.findByTestId("failure"));
  expect(part.getByText("ValueError: no steps")).toBeVisible();
  expect(part.getByTestId("traceback")).not.toHaveAttribute("open");
  expect(part.getByRole("link", { name: "Log of rank 1" })).toHaveAttribute(
    "href",
    "/runs/run_21?rank=1#log",
  );
  expect(screen.getAllByText(/mine\.py/)).toHaveLength(1);
  expect(screen.getByTestId("history")).toHaveTextContent("rank 1 raised ValueError: no steps (exit code 3");
  await screen.findByText("No output.");
});

it("of no known rank leads to the log of mpirun, and to a clone", async () => {
  server
    .on("GET /runs/*", failed({ why: "mpirun ended with status 1" }, "failed_infra"))
    .on("GET /experiments/*", experiment())
    .on("POST /series", { axis: "clock", unit: "s", series: [] })
    .on("GET /runs/*/logs", { lines: [], more: false, next_after: 0 });
  openApp(server, "/runs/run_21");
  const part = within(await screen.findByTestId("failure"));
  expect(part.queryByTestId("traceback")).toBeNull();
  expect(part.getByRole("link", { name: "Log of mpirun" })).toHaveAttribute(
    "href",
    "/runs/run_21?rank=-1#log",
  );
  expect(part.getByRole("link", { name: "Clone the experiment" })).toHaveAttribute(
    "href",
    "/new?clone=exp_7",
  );
  await screen.findByText("No output.");
});
