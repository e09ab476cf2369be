import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { RunState } from "@/lib/client/types.gen";
import { RunBar } from "@/lib/ui/run-bar";
import { StateBadge } from "@/lib/ui/state-badge";
import { isTerminal } from "@/lib/ui/states";
import { show } from "../support/app";

describe("a state", () => {
  it.each<[RunState, string, boolean]>([
    ["queued", "queued", false],
    ["dispatched", "dispatched", false],
    ["starting", "starting", false],
    ["running", "running", false],
    ["lost", "lost", false],
    ["succeeded", "succeeded", true],
    ["failed_user", "failed: code", true],
    ["failed_infra", "failed: infrastructure", true],
    ["cancelled", "cancelled", true],
    ["timed_out", "timed out", true],
  ])("%s reads “%s”, and is the end of a run: %s", (state, words, over) => {
    show(<StateBadge state={state} testId="state" />);
    expect(screen.getByTestId("state")).toHaveTextContent(words);
    expect(screen.getByTestId("state").title).toMatch(/\.$/);
    expect(isTerminal(state)).toBe(over);
  });

  it("that nobody knows is shown as it is", () => {
    show(<StateBadge state="paused" testId="state" />);
    expect(screen.getByTestId("state")).toHaveTextContent("paused");
  });
});

it("a bar of runs leaves out states that no run is in, and counts every end as one", () => {
  show(<RunBar runs={{ queued: 1, cancelled: 2, succeeded: 3, running: 0, timed_out: 1 }} />);
  expect(screen.getByRole("img")).toHaveAccessibleName(
    "6 of 7 runs ended: 3 succeeded, 1 timed out, 2 cancelled, 1 queued",
  );
  expect(screen.getByRole("img").children).toHaveLength(4);
});
