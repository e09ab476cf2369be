import { describe, expect, it } from "vitest";
import { experimentsSearch, inProject } from "@/features/experiments/search";
import { newExperimentSearch } from "@/features/new-experiment/search";
import { keptWords, others } from "@/features/people/project-words";
import { highest, refusal } from "@/lib/people/roles";
import { heldWords, isFull, isTight, quotaSentence } from "@/lib/projects/quota";
import { intoQuery, openOnes } from "@/lib/projects/use-projects";
import { me, member, project, user } from "../support/fixtures/people";

describe("the filter of a list", () => {
  it.each([
    [undefined, undefined, undefined],
    ["starred", undefined, "starred"],
    [undefined, "vision", "project = vision"],
    ["starred or archived", "vision", "project = vision and (starred or archived)"],
  ])("%s in %s is %s", (filter, of, expected) => {
    expect(inProject(filter, of)).toBe(expected);
  });
});

describe("an address", () => {
  it("keeps the name of a project, and nothing that is none", () => {
    expect(experimentsSearch({ project: "vision" }).project).toBe("vision");
    expect(newExperimentSearch({ project: "vision" }).project).toBe("vision");
    for (const none of ["", 7, null, ["vision"]]) {
      expect(experimentsSearch({ project: none }).project).toBeUndefined();
      expect(newExperimentSearch({ project: none }).project).toBeUndefined();
    }
  });
});

describe("what is put into a project", () => {
  it("says so unless it is the default one", () => {
    expect(intoQuery("vision")).toEqual({ project: "vision" });
    expect(intoQuery("default")).toBeUndefined();
    expect(intoQuery(undefined)).toBeUndefined();
  });

  it("goes into those that are open and in which the user is at least a researcher", () => {
    const found = openOnes([
      project("default", { role: "viewer" }),
      project("vision", { role: "researcher" }),
      project("text", { role: "operator", archived: true }),
      project("sound", { role: "operator" }),
    ]);
    expect(found.map(({ name }) => name)).toEqual(["vision", "sound"]);
  });
});

describe("a quota of points", () => {
  const holding = (points: number | null, quota: number) => project("vision", { points, quota });

  it.each([
    [null, 0, "no quota", false, false],
    [0, 10, "0 of 10 points (0%)", false, false],
    [7_999_999, 10_000_000, "7,999,999 of 10,000,000 points (79%)", false, false],
    [8_000_000, 10_000_000, "8,000,000 of 10,000,000 points (80%)", true, false],
    [9_999_999, 10_000_000, "9,999,999 of 10,000,000 points (99%)", true, false],
    [10, 10, "10 of 10 points (100%)", true, true],
    [25, 10, "25 of 10 points (250%)", true, true],
  ])("of which %j of %i points are held is %s", (points, quota, words, tight, full) => {
    const held = holding(points, quota);
    expect([heldWords(held), isTight(held), isFull(held)]).toEqual([words, tight, full]);
  });

  it("says what follows from it", () => {
    expect(quotaSentence(holding(8, 10))).toBe(
      "The project vision holds 8 of the 10 points that it may hold (80%). When these are used up, nothing more can be put into it.",
    );
    expect(quotaSentence(holding(12, 10))).toMatch(
      /^The project vision holds 12 of the 10 points that it may hold \(120%\): nothing more can be put into it until/,
    );
  });
});

describe("who is a researcher in a project only", () => {
  const ana = me("viewer", { projects: { vision: "viewer", text: "operator" } });

  it("is offered what researchers do with experiments, and the server decides where", () => {
    expect(highest(ana)).toBe("operator");
    expect(refusal(ana, "researcher")).toBeUndefined();
    expect(refusal(ana, "researcher", "ben")).toBeUndefined();
  });

  it("is offered what operators do with runs where they are one in a project", () => {
    expect(refusal(ana, "operator", undefined, true)).toBeUndefined();
    expect(refusal(me("viewer"), "operator", undefined, true)).toMatch("needs the role operator");
  });

  it("is not offered what concerns clusters and users", () => {
    expect(refusal(ana, "operator")).toBe("This needs the role operator; yours is viewer.");
    expect(refusal(ana, "admin")).toMatch("needs the role admin");
  });

  it("has no more than the role on the site where that is the highest", () => {
    expect(highest(me("researcher", { projects: { vision: "viewer" } }))).toBe("researcher");
    expect(highest(me("admin"))).toBe("admin");
  });
});

describe("a project in words", () => {
  it.each([
    ["site", "never (server default)"],
    ["never", "never"],
    ["90d", "after 90d"],
  ])("that keeps runs: %s deletes them %s", (keep, words) => {
    expect(keptWords(keep)).toBe(words);
  });

  it("offers users who can sign in and are no members yet", () => {
    const users = [user("ana"), user("ben"), user("eva", { disabled: true })];
    expect(others(users, [member("ben")])).toEqual(["ana"]);
    expect(others([], [member("ben")])).toEqual([]);
  });
});
