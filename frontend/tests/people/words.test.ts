import { describe, expect, it } from "vitest";
import { complete, fault } from "@/features/people/new-password";
import { signInSearch } from "@/features/people/search";
import { tokenOwner, tokenState } from "@/features/people/token-state";
import { actionWords, changeWords } from "@/features/people/trail-words";
import { userState } from "@/features/people/user-state";
import { includes, MEANINGS, nextPage, ROLES, refusal } from "@/lib/people/roles";
import { accessToken, me, user } from "../support/fixtures/people";

const NOW = Date.parse("2026-03-02T10:00:00Z");

describe("what a role may do", () => {
  it("includes what the roles before it do, and nothing of those behind it", () => {
    for (const [i, role] of ROLES.entries())
      for (const [j, least] of ROLES.entries())
        expect(refusal(me(role), least) === undefined, `${role} where ${least} is needed`).toBe(i >= j);
  });

  it("is told with the reason", () => {
    expect(refusal(me("viewer"), "operator")).toBe("This needs the role operator; yours is viewer.");
  });

  it("covers one's own experiments, and those of others from operator on", () => {
    expect(refusal(me("researcher"), "researcher", "ana")).toBeUndefined();
    expect(refusal(me("researcher"), "researcher", "ben")).toMatch("only ben or an operator");
    expect(refusal(me("operator"), "researcher", "ben")).toBeUndefined();
    expect(refusal(me("viewer"), "researcher", "ana")).toMatch("needs the role researcher");
  });

  it("is left to the server while it is not known who this is", () => {
    expect(refusal(undefined, "admin")).toBeUndefined();
  });
});

describe("a role", () => {
  it.each([
    ["viewer", "viewer", true],
    ["viewer", "researcher", false],
    ["researcher", "operator", false],
    ["operator", "researcher", true],
    ["admin", "operator", true],
  ] as const)("%s includes %s: %s", (role, least, included) => {
    expect(includes(role, least)).toBe(included);
  });

  it("is told with what it may do", () => {
    expect(Object.keys(MEANINGS)).toEqual([...ROLES]);
  });
});

describe("the page behind the sign-in", () => {
  it.each([
    ["/runs/run_1?axis=clock", "/runs/run_1?axis=clock"],
    [undefined, "/"],
    ["//evil.example", "/"],
    ["/\\evil.example", "/"],
    ["https://evil.example", "/"],
    ["javascript:alert(1)", "/"],
    ["/\t/evil.example", "/"],
    ["/\n/evil.example", "/"],
  ])("%s leads to %s", (next, page) => {
    expect(nextPage(next)).toBe(page);
  });

  it("is a text of the address, or nothing", () => {
    expect(signInSearch({ next: "/new" })).toEqual({ next: "/new" });
    expect(signInSearch({ next: 7 })).toEqual({ next: undefined });
  });
});

describe("a new password", () => {
  it.each([
    ["short", "", "At least 12 characters", false],
    ["long enough it is", "", undefined, false],
    ["long enough it is", "long enough it", "The two differ", false],
    ["long enough it is", "long enough it is", undefined, true],
  ])("%s, again %s", (password, repeated, why, ready) => {
    expect(fault(password, repeated)).toBe(why);
    expect(complete(password, repeated)).toBe(ready);
  });
});

describe("a token", () => {
  it.each([
    [{}, true, /^until 2099-03-01$/],
    [{ expires_at: "2026-03-01T10:00:00Z" }, false, /^expired$/],
    [{ revoked_at: "2026-03-02T09:00:00Z" }, false, /^revoked 1 h ago$/],
    [{ expires_at: null, scope: "agent:hpc" }, true, /^until it is revoked$/],
  ])("%o", (changes, valid, words) => {
    const state = tokenState(accessToken("x", changes), NOW);
    expect(state.valid).toBe(valid);
    expect(state.words).toMatch(words);
  });

  it("is of a user, a machine or an agent", () => {
    const owners = [{}, { user: null }, { user: null, scope: "agent:hpc" }];
    expect(owners.map((changes) => tokenOwner(accessToken("x", changes)))).toEqual([
      "ana",
      "a machine",
      "an agent",
    ]);
  });
});

describe("a user", () => {
  it.each([
    [{}, "active"],
    [{ disabled: true }, "disabled"],
    [{ has_password: false, linked: true }, "active"],
    [{ has_password: false, invite_until: "2026-03-05T10:00:00Z" }, "invited"],
    [{ has_password: false, invite_until: "2026-03-01T10:00:00Z" }, "invitation expired"],
  ])("%o is %s", (changes, words) => {
    expect(userState(user("ben", changes), NOW).words).toBe(words);
  });
});

describe("an entry of the audit trail", () => {
  it.each([
    [{ before: { role: "viewer" }, after: { role: "admin" } }, "role viewer → role admin"],
    [{ before: { state: "running", attempt: 2 }, after: null }, "was state running, attempt 2"],
    [{ before: null, after: { label: "ci", scope: "read" } }, "label ci, scope read"],
    [
      { before: { runs: { queued: 10 } }, after: { runs: { cancelled: 10 } } },
      "runs queued 10 → runs cancelled 10",
    ],
    [
      { before: { starred: false, note: "" }, after: { add_tags: ["a", "b"] } },
      "starred no, note empty → add tags a, b",
    ],
    [{ before: null, after: { agent: null, place: null } }, ""],
    [{ before: null, after: null }, ""],
  ])("%o says %s", (change, words) => {
    expect(changeWords(change)).toBe(words);
  });

  it("names the operation in words", () => {
    expect(actionWords("make_cluster_token")).toBe("make cluster token");
  });
});
