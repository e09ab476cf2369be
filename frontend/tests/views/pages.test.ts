import { describe, expect, it } from "vitest";
import { calledSo, divided, pageOf, pathnameOf } from "@/lib/views/pages";
import { savedView } from "../support/fixtures/people";

describe("the page of a view", () => {
  it.each([
    ["/", "Experiments"],
    ["/?filter=starred", "Experiments"],
    ["/compare?rows=%5B%2212%22%5D", "Compare"],
    ["/runs?filter=state+%3D+failed", "Runs"],
    ["/leaderboard?workload=digits-mlp", "Leaderboard"],
    ["/experiments/exp_7?axis=step", "Experiment"],
  ])("%s is %s", (path, word) => {
    expect(pageOf(path)).toBe(word);
  });

  it("ends where its query begins, whatever stands in that", () => {
    expect(pathnameOf("/compare?rows=a?b")).toBe("/compare");
    expect(pathnameOf("/compare")).toBe("/compare");
  });
});

describe("views of one page", () => {
  const home = savedView("viw_1", "Running", "/?filter=running");
  const seven = savedView("viw_2", "Over steps", "/experiments/exp_7?axis=step");
  const eight = savedView("viw_3", "Over steps too", "/experiments/exp_8?axis=step");

  it("are told from those of another experiment, whatever is zoomed now", () => {
    expect(divided([home, seven, eight], "/experiments/exp_7?x=1_2")).toEqual({
      here: [seven],
      elsewhere: [home, eight],
    });
    expect(divided([home, seven], "/").here).toEqual([home]);
  });

  it("are found by their whole name; spaces around it do not count, capitals do", () => {
    expect(calledSo([home, seven], " Over steps ")).toBe(seven);
    expect(calledSo([home, seven], "over steps")).toBeUndefined();
    expect(calledSo([home, seven], "Over")).toBeUndefined();
  });
});
