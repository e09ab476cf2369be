import { expect, it } from "vitest";
import { listSheet } from "@/features/experiments/list-sheet";
import { csvOf } from "@/lib/export/sheet";
import { summary } from "../support/fixtures/experiment";

it("the list leaves with what its rows do not show", () => {
  const item = summary(7, {
    name: "a, b",
    state: "succeeded",
    runs: { succeeded: 8, failed_user: 1 },
    headlines: ["Fastest: Sync EASGD, 2×"],
    created_at: "2026-05-01T12:00:00Z",
    finished_at: "2026-05-01T12:01:30Z",
    tags: ["paper", "draft"],
  });
  const { head, rows } = listSheet([item], 0);
  const [row] = rows;
  const told = Object.fromEntries(head.map((title, at) => [title, row?.[at]]));
  expect(told).toMatchObject({
    Number: "7",
    Name: "a, b",
    Verdict: "Fastest: Sync EASGD, 2×",
    "Runs ended": "9",
    Runs: "9",
    "Duration (s)": "90",
    Tags: "paper, draft",
  });
  expect(csvOf({ head, rows }).split("\r\n")[1]).toMatch(/^7,"a, b",/);
});
