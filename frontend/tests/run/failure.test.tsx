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
      /data of the workload are not on local/,
    ],
    [{ signal: 9, why: "rank 0 on a was killed by SIGKILL (9)" }, "failed_infra", /too much memory/],
    [{ why: "mpirun ended with status 1" }, "failed_infra", /clone of the experiment runs it again/],
  ])("%o comes with an advice", (changes, state, advice) => {
    expect(failureOf(failed(changes, state))?.advice).toMatch(advice);
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
  await screen.findByText("Nothing was written.");
});
