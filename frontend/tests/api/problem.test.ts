import { describe, expect, it } from "vitest";
import { explain, faultsOf, statusOf, worthRetrying } from "@/lib/api/problem";
import type { ProblemDetails } from "@/lib/client/types.gen";

const problem = (status: number, detail = ""): ProblemDetails => ({
  type: "/problems/test",
  title: "Refused",
  status,
  detail,
  instance: "/api/v1/runs",
  request_id: "req",
});

describe("an error of a request", () => {
  it.each<[string, unknown, string]>([
    ["the server's words", problem(409, "The run has ended."), "The run has ended."],
    ["its title where it says no more", problem(500), "Refused"],
    [
      "that nobody answered",
      new TypeError("fetch failed"),
      "The server did not respond. It may be restarting; this page retries.",
    ],
    ["its own words", new Error("odd"), "odd"],
    ["that it was no JSON", "<html>", "The server's response is not JSON."],
  ])("is explained by %s", (_, error, words) => {
    expect(explain(error)).toBe(words);
  });

  it.each<[number, unknown, boolean]>([
    [0, problem(404), false],
    [0, problem(422), false],
    [0, problem(503), true],
    [2, problem(503), true],
    [3, problem(503), false],
    [0, new TypeError("fetch failed"), true],
  ])("after %i failures of %o: whether to ask again is %s", (failures, error, again) => {
    expect(worthRetrying(failures, error)).toBe(again);
  });

  it("names its faults, where it has any", () => {
    const errors = [{ pointer: "/batch", message: "too large" }];
    expect(faultsOf({ ...problem(422), errors })).toEqual(errors);
    expect(faultsOf(problem(500))).toEqual([]);
    expect(faultsOf(new Error("odd"))).toEqual([]);
    expect([statusOf(problem(401)), statusOf({ status: "401", title: "x" })]).toEqual([401, undefined]);
  });
});
