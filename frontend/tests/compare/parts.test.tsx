/** Parts of the page of which no request is made. */
import { fireEvent, screen, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { ContrastsPart } from "@/features/compare/contrasts-part";
import { ParametersPart } from "@/features/compare/parameters-part";
import { SettingsPart } from "@/features/compare/settings-part";
import { TradeOffs } from "@/features/compare/trade-offs";
import type { ComparedRows, SpeedUp } from "@/lib/client/types.gen";
import { show } from "../support/app";
import { comparedRow, comparedRows } from "../support/fixtures/compare";
import { estimate, speedUp } from "../support/fixtures/experiment";

const cells = (row: HTMLElement | undefined) =>
  [...(row?.querySelectorAll("th, td") ?? [])].map((cell) => cell.textContent?.replace(/\s+/g, " ").trim());

const timed = (variant: string, seconds: number, changes: Parameters<typeof comparedRow>[2] = {}) =>
  comparedRow(7, variant, {
    time_to_target: { mean: seconds, median: seconds, low: null, high: null, n: 3, reached: 3, unit: "s" },
    ...changes,
  });

describe("a ratio", () => {
  const shown = (changes: Partial<SpeedUp>) => {
    const speed_up = speedUp({ comparisons: 1, ...changes });
    const contrasts = [{ first: 1, second: 3, speed_up, sentence: "Said." }];
    show(<ContrastsPart compared={comparedRows({ contrasts })} against={undefined} change={vi.fn()} />);
    return cells(screen.getByTestId("contrast")).slice(2);
  };

  it.each<[string, Partial<SpeedUp>, string]>([
    ["with an interval", { ratio: 2, low: 1.5, high: 2.5 }, "2.00×1.50× to 2.50×"],
    ["near 1 that is shown", { ratio: 1.01, low: 1.003, high: 1.02 }, "1.01×1.003× to 1.02×"],
    ["of which only the lower end is known", { claim: "at least", low: 1.8, high: null }, "2.00×from 1.80×"],
    [
      "of which only the upper end is known",
      { claim: "at most", ratio: 0.4, low: null, high: 0.5 },
      "0.40×up to 0.50×",
    ],
    ["without an interval", { claim: "not shown", ratio: null, low: null, high: null }, "–not shown"],
    ["of too few seeds", { claim: "no claim", ratio: 2, low: null, high: null, pairs: 1 }, "2.00×no claim"],
  ])("%s is written so", (_, changes, text) => {
    const [ratio, , conclusion] = shown(changes);
    expect([ratio, conclusion]).toEqual([text, "Said."]);
  });

  it("alone has no correction", () => {
    shown({});
    expect(screen.getByTestId("contrasts")).not.toHaveTextContent("Holm");
  });

  it("against one row is chosen and undone", async () => {
    const change = vi.fn();
    const { user } = show(
      <ContrastsPart compared={comparedRows()} against="7/local/2/Sync EASGD" change={change} />,
    );
    const choice = screen.getByRole("combobox", { name: "Comparison" });
    expect(choice).toHaveValue("7/local/2/Sync EASGD");
    expect(screen.getByRole("heading")).toHaveTextContent("Against one row");
    await user.selectOptions(choice, "8/hpc/2/Sync EASGD");
    await user.selectOptions(choice, "");
    expect(change.mock.calls).toEqual([[{ against: "8/hpc/2/Sync EASGD" }], [{ against: undefined }]]);
  });

  it("is missing where there is nothing else", () => {
    show(
      <ContrastsPart
        compared={comparedRows({ contrasts: [] })}
        against="7/local/2/Sync EASGD"
        change={vi.fn()}
      />,
    );
    expect(screen.getByTestId("contrasts")).toHaveTextContent("There is only one row.");
  });
});

describe("settings", () => {
  const text = (changes: Partial<ComparedRows>) => {
    show(<SettingsPart compared={comparedRows(changes)} />);
    return screen.getByTestId("settings");
  };
  const equal = [{ name: "/batch", differs: false, values: [32] }];

  it("that are all the same are said to be", () => {
    const part = text({ settings: equal });
    expect(part).toHaveTextContent("All rows have the same settings.1 setting is the same");
    expect(within(part).queryByRole("table")).toBeNull();
  });

  it("of one row have nothing to differ from", () => {
    expect(text({ rows: [comparedRow(7, "a")], settings: equal })).toHaveTextContent(
      "There is only one row.",
    );
  });

  it("that all differ have none to fold", () => {
    const part = text({ settings: [{ name: "/batch", differs: true, values: [32, 64, 32, 32] }] });
    expect(part.querySelector("details")).toBeNull();
    expect(cells(within(part).getByTestId("setting"))).toEqual(["batch", "32", "64", "32", "32"]);
  });

  it("of search spaces are folded: a tuned experiment has hundreds", () => {
    const space = {
      name: "/tuning/spaces/sync-easgd/lr/low",
      differs: true,
      values: [0.1, null, null, null],
    };
    const part = text({ settings: [space, { name: "/batch", differs: true, values: [32, 64, 32, 32] }] });
    const spaces = within(part).getByTestId("search-spaces");
    expect(spaces).not.toHaveAttribute("open");
    expect(spaces).toHaveTextContent(/^1 setting of a search space differs/);
    const rows = within(part).getAllByTestId("setting");
    expect(rows.map((row) => spaces.contains(row))).toEqual([false, true]);
  });

  it("that differ in search spaces alone are said to", () => {
    const space = {
      name: "/tuning/spaces/sync-easgd/lr/low",
      differs: true,
      values: [0.1, null, null, null],
    };
    expect(text({ settings: [space] })).toHaveTextContent(
      "All rows have the same settings apart from search spaces.",
    );
  });

  it("stand under the row that has them", () => {
    const [, ...heads] = within(text({})).getAllByRole("columnheader");
    expect(heads.map((head) => head.textContent)).toEqual([
      "Original EASGD#7 local, 2 workers",
      "Sync EASGD#7 local, 2 workers",
      "Sync EASGD#7 10gbe, 2 workers",
      "Sync EASGD#8 hpc, 2 workers",
    ]);
  });
});

describe("trade-offs", () => {
  const offs = (compared: ComparedRows, changes: Partial<Parameters<typeof TradeOffs>[0]> = {}) => {
    const change = vi.fn();
    const view = show(
      <TradeOffs compared={compared} of={undefined} over={undefined} change={change} {...changes} />,
    );
    return { ...view, change };
  };

  it("are shown as a table, with the spread of each figure, by the menu of the drawing", async () => {
    const { user } = offs(comparedRows({ rows: [timed("a", 1), timed("b", 2)] }));
    await user.click(screen.getByRole("button", { name: /^Export: Best accuracy against Time to target/ }));
    await user.click(await screen.findByRole("menuitem", { name: "Show as a table" }));
    const rows = [...(await screen.findByTestId("sheet-table")).querySelectorAll("tr")];
    const cells = rows.map((row) => [...row.children].map((cell) => cell.textContent));
    expect(cells.map((row) => row.length)).toEqual([4, 4, 4]);
    expect(cells[0]).toEqual(["Row", "Time to target (s)", "Best accuracy", "On the front"]);
    expect(cells.slice(1).map((row) => row.at(-1))).toEqual(["yes", "no"]);
    // what a screen reader finds behind the drawing is the same
    const behind = [...screen.getByTestId("front-table").querySelectorAll("tr")];
    expect(behind.map((row) => [...row.children].map((cell) => cell.textContent))).toEqual(cells);
  });

  it("of several workloads are drawn apart", () => {
    const rows = [timed("a", 1), timed("b", 2), timed("c", 3, { task: 1 })];
    offs(comparedRows({ rows, tasks: ["digits, 97%", "mnist, 98%"] }));
    const captions = screen
      .getAllByTestId("front")
      .map((one) => one.querySelector("figcaption")?.firstChild?.textContent);
    expect(captions).toEqual(["digits, 97%", "mnist, 98%"]);
    expect(screen.getAllByRole("img").map((one) => one.getAttribute("aria-label"))).toEqual([
      expect.stringContaining(
        "Best accuracy against Time to target (s), digits, 97%: 2 rows, of which 1 are",
      ),
      expect.stringContaining("mnist, 98%: 1 rows"),
    ]);
  });

  it("are over samples where no row has a time, and say virtual seconds where it is one", () => {
    const { unmount } = offs(comparedRows({ rows: [timed("a", 1, { time_to_target: null })] }));
    expect(screen.getByRole("combobox", { name: "Horizontal axis" })).toHaveValue("samples");
    unmount();
    offs(comparedRows({ rows: [timed("a", 1, { simulated: true })] }));
    expect(screen.getAllByText("Time to target (virtual s)")).toHaveLength(2); // of the chart and of its table
  });

  it("name the rows that lack a figure, and which", () => {
    const without = { time_to_target: null, best_accuracy: estimate(null, 0, 0) };
    offs(comparedRows({ rows: [timed("a", 1), timed("b", 2, without)] }));
    expect(screen.getByTestId("lacking")).toHaveTextContent(
      "Not drawn: b, without time to target or best accuracy.",
    );
  });

  it("have the axes of the address, and change them", async () => {
    const { user, change } = offs(comparedRows(), { of: "test", over: "exposed" });
    expect(screen.getAllByText("Exposed communication")).not.toHaveLength(0);
    await user.selectOptions(screen.getByRole("combobox", { name: "Vertical axis" }), "Time to target");
    expect(change).toHaveBeenCalledWith({ of: "time" });
  });
});

describe("parameters", () => {
  const rows = [timed("a", 1), timed("b", 3), timed("c", 2)];
  const settings = [{ name: "/algorithm/parameters/lr", differs: true, values: [0.1, 0.2, 0.3] }];

  it("have a line for each row, which the pointer marks", () => {
    show(<ParametersPart compared={comparedRows({ rows, settings })} />);
    const chart = screen.getByTestId("parameter-lines");
    expect(
      screen.getByRole("img", { name: /3 rows over algorithm lr, Time to target \(s\);/ }),
    ).toBeVisible();
    expect(chart.querySelectorAll("[data-trial]")).toHaveLength(3);
    const [hit] = [...chart.querySelectorAll("path")].filter((path) => path.textContent === "b: 3 s");
    const opacity = () =>
      [...chart.querySelectorAll("[data-trial]")].map((line) => line.getAttribute("opacity"));
    fireEvent.pointerEnter(hit as Element);
    expect(opacity()).toEqual(["0.3", "1", "0.3"]);
    fireEvent.pointerLeave(hit as Element);
    expect(opacity()).toEqual(["1", "1", "1"]);
  });

  it("are left out where there is no picture to draw", () => {
    show(<ParametersPart compared={comparedRows({ rows, settings: [] })} />);
    expect(screen.queryByTestId("parameters")).toBeNull();
  });
});
