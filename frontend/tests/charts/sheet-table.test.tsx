import { screen, within } from "@testing-library/react";
import { createRef } from "react";
import { describe, expect, it } from "vitest";
import { trialsSheet } from "@/features/experiment/trials-sheet";
import { DrawingMenu } from "@/lib/charts/drawing-menu";
import { show } from "../support/app";
import { search } from "../support/fixtures/tuning";

const SHEET = {
  head: ["Trial", "lr"],
  rows: [
    ["trial 1", "0.01"],
    ["trial 2", "0.1"],
  ],
};

describe("a drawing as a table", () => {
  it("opens from the menu of the drawing, and closes again", async () => {
    const { user } = show(<DrawingMenu of="Trials" host={createRef<HTMLElement>()} sheet={() => SHEET} />);
    await user.click(screen.getByRole("button", { name: "Export: Trials" }));
    await user.click(await screen.findByRole("menuitem", { name: "Show as a table" }));
    const window = await screen.findByRole("dialog", { name: "Trials" });
    const rows = within(await within(window).findByTestId("sheet-table")).getAllByRole("row");
    expect(rows.map((row) => [...row.children].map((cell) => cell.textContent))).toEqual([
      SHEET.head,
      ...SHEET.rows,
    ]);
    expect(within(rows[1] as HTMLElement).getByRole("rowheader")).toHaveTextContent("trial 1");
    const heads = within(window).getAllByRole("columnheader");
    expect(heads.map((cell) => cell.hasAttribute("data-number"))).toEqual([false, true]); // figures stand right
  });

  it("of trials has their parameters and what they have shown, the best first", () => {
    const found = search();
    const { head, rows } = trialsSheet(found, "seconds");
    expect(head).toEqual(["Trial", "Rank", ...Object.keys(found.spaces), "Time to target (s)", "Outcome"]);
    expect(rows).toHaveLength(found.trials.length);
    expect(rows.every((row) => row.length === head.length)).toBe(true);
    const chosen = found.trials.find((trial) => trial.chosen);
    expect(rows.filter((row) => row.at(-1) === "chosen").map(([name]) => name)).toEqual([
      `trial ${chosen?.trial}`,
    ]);
    expect(rows[0]?.[1]).toBe("1");
  });
});
