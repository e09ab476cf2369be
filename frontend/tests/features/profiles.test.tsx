import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { allProfiles, colorsOf, shareAt } from "@/features/leaderboard/profile-series";
import type { Board } from "@/lib/client/types.gen";
import { curvesCsv } from "@/lib/export/curves-sheet";
import { board, method, openBoards } from "../support/boards";
import { apiServer } from "../support/server";

const server = apiServer();
const open = openBoards.bind(null, server);

describe("profiles as curves", () => {
  it("begin with their value at 1, and jump at one place each", () => {
    const [curve] = allProfiles(
      [method("a")],
      (name) => name,
      2,
      () => 0,
    );
    expect(curve?.x).toEqual([1, 2 - 1e-6, 2, 4]);
    expect(curve?.y).toEqual([0.5, 0.5, 1, 1]);
    const [never] = allProfiles(
      [method("b", { tau: [1, 4], rho: [0, 0] })],
      (name) => name,
      2,
      () => 0,
    );
    expect([never?.x, never?.y]).toEqual([
      [1, 4],
      [0, 0],
    ]);
    const [late] = allProfiles(
      [method("c", { tau: [1, 3, 3, 4], rho: [0, 0, 0.5, 0.5] })],
      (name) => name,
      2,
      () => 0,
    );
    expect([late?.x, late?.y]).toEqual([
      [1, 3 - 1e-6, 3, 4],
      [0, 0, 0.5, 0.5],
    ]);
  });

  it("are a table with each factor once, and the share of every algorithm there", async () => {
    const other = method("other", { tau: [1, 1.5, 1.5, 4], rho: [0, 0, 0.5, 0.5] });
    const { user } = await open({ boards: [board({ methods: [method("sync-easgd"), other] })] });
    const chart = within(await screen.findByTestId("profiles"));
    await user.click(chart.getByRole("button", { name: /^Export:/ }));
    await user.click(await screen.findByRole("menuitem", { name: "Show as a table" }));
    const [, ...rows] = within(await screen.findByTestId("chart-table")).getAllByRole("row");
    const cells = (row: HTMLElement) => [...row.children].map((each) => each.textContent);
    expect(rows.map(cells)).toEqual([
      ["1", "50%", "0%"],
      ["1.5", "50%", "50%"],
      ["2", "100%", "50%"],
      ["4", "100%", "50%"],
    ]);
  });

  it("that are equal stand beside one another, and are still told as they are", () => {
    const many = Array.from({ length: 12 }, (_, i) => method(`m${i}`));
    const heights = allProfiles(
      many,
      (name) => name,
      8,
      () => 0,
    ).map(({ y }) => y[0] ?? 0);
    expect(heights[0]).toBe(0.5);
    expect(new Set(heights).size).toBe(12);
    expect(heights.map((height) => shareAt(height, 8))).toEqual(Array(12).fill(0.5));
    expect([shareAt(0, 3), shareAt(-0.05, 3), shareAt(1, 3), shareAt(0.95, 8)]).toEqual([0, 0, 1, 1]);
  });

  it("leave for a file at their own heights, not beside one another", () => {
    const many = Array.from({ length: 3 }, (_, i) => method(`m${i}`));
    const lines = curvesCsv(
      allProfiles(
        many,
        (name) => name,
        2,
        () => 0,
      ),
      "τ",
      "share",
    ).split("\r\n");
    expect(lines.filter((line) => line.includes(",2,"))).toEqual(["m0,2,1,,", "m1,2,1,,", "m2,2,1,,"]);
  });

  it("tell the share among more workloads, too", () => {
    const methods = Array.from({ length: 12 }, (_, i) => method(`m${i}`, { tau: [1, 2], rho: [0.45, 0.45] }));
    const shares = allProfiles(
      methods,
      (name) => name,
      40,
      () => 0,
    ).map(({ y }) => shareAt(y[0] ?? 0, 40));
    expect(shares).toEqual(Array(12).fill(18 / 40));
  });
});

it("a method has one colour on all boards, whatever its rank", () => {
  const first = board({ methods: [method("slowmo"), method("easgd"), method("demo")] });
  const second = board({ cluster: "other", methods: [method("demo"), method("slowmo")] });
  const styles = (of: Board, boards: Board[]) =>
    new Map(
      allProfiles(of.methods, (name) => name, 2, colorsOf(boards)).map(({ label, style }) => [label, style]),
    );
  const before = styles(first, [first, second]);
  expect(new Set([...before.values()].map(({ light }) => light)).size).toBe(3);
  const overtaken = board({ methods: [...first.methods].reverse() });
  expect(styles(overtaken, [second, overtaken])).toEqual(before);
  expect(styles(second, [first, second]).get("demo")).toEqual(before.get("demo"));
});
