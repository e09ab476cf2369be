import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { RunState } from "@/lib/client/types.gen";
import { RunBar } from "@/lib/ui/run-bar";
import { StateBadge } from "@/lib/ui/state-badge";
import { isTerminal, outcomeOf } from "@/lib/ui/states";
import { show } from "../support/app";
import { outOfView } from "../support/near";

describe("a state", () => {
  it.each<[RunState, string, boolean]>([
    ["queued", "waiting", false],
    ["dispatched", "waiting", false],
    ["starting", "starting", false],
    ["running", "running", false],
    ["lost", "lost contact", false],
    ["succeeded", "finished", true],
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

  it("is told apart from its outcome", () => {
    const missed = outcomeOf({ state: "succeeded", time_to_target: null }, true);
    show(<StateBadge state="succeeded" testId="state" outcome={missed} />);
    expect(screen.getByTestId("state")).toHaveTextContent("finishedtarget not reached");
    expect(outcomeOf({ state: "succeeded", time_to_target: 2 }, true)?.label).toBe("target reached");
    expect(outcomeOf({ state: "succeeded", time_to_target: null }, false)).toBeUndefined();
    expect(outcomeOf({ state: "running", time_to_target: null }, true)).toBeUndefined();
  });

  it("that is being cancelled says so at once, and no longer when it is over", () => {
    const { again } = show(<StateBadge state="running" testId="state" cancelling />);
    expect(screen.getByTestId("state")).toHaveTextContent("cancelling");
    again(<StateBadge state="cancelled" testId="state" cancelling />);
    expect(screen.getByTestId("state")).toHaveTextContent("cancelled");
  });
});

it("the dot of what goes on moves in view alone", () => {
  const see = outOfView();
  show(<StateBadge state="running" testId="state" />);
  const dot = screen.getByTestId("state").firstElementChild as Element;
  expect(dot).toHaveAttribute("data-away");
  see(dot, true);
  expect(dot).not.toHaveAttribute("data-away");
  see(dot, false);
  expect(dot).toHaveAttribute("data-away");
});

it("the dot of what goes on moves where a browser cannot tell what is in view", () => {
  show(<StateBadge state="running" testId="state" />);
  expect(screen.getByTestId("state").firstElementChild).not.toHaveAttribute("data-away");
});

it("a bar of runs leaves out states that no run is in, and counts every end as one", () => {
  show(<RunBar runs={{ queued: 1, dispatched: 4, cancelled: 2, succeeded: 3, running: 0, timed_out: 1 }} />);
  expect(screen.getByRole("img")).toHaveAccessibleName(
    "6 of 11 runs ended: 3 finished, 1 timed out, 2 cancelled, 5 waiting",
  );
  expect(screen.getByRole("img").children).toHaveLength(5);
});

it("a bar of runs that only wait and start is empty", () => {
  show(<RunBar runs={{ starting: 1, dispatched: 15, queued: 2 }} />);
  for (const part of screen.getByRole("img").children) {
    expect(part).toHaveStyle({ backgroundColor: "rgba(0, 0, 0, 0)" });
    expect(part.className).toBe("");
  }
});
