import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { csvOf, latexOf, markdownOf, type Sheet, sheetOf } from "@/lib/export/sheet";
import { Figure } from "@/lib/ui/figure";
import { Tag } from "@/lib/ui/tag";
import { VariantChip } from "@/lib/ui/variant-chip";
import { show } from "../support/app";

function shown(): Sheet {
  show(
    <table>
      <thead>
        <tr>
          <th>Variant</th>
          <th data-number>
            Time to target
            <br />
            mean, s
          </th>
          <th colSpan={2}>
            lab <Tag kind="simulated" />
          </th>
          <th>
            <button type="button">Set</button>
          </th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <td>
            <VariantChip name="a | b, c" index={0} />
          </td>
          <td>
            <Figure value="2.4 s" range="3 of 3 reached" />
          </td>
          <td>
            <Figure value="1×" />
          </td>
          <td>
            <svg>
              <title>1.00 times</title>
            </svg>
          </td>
          <td>
            <button type="button">Set</button>
          </td>
        </tr>
        <tr>
          <td>50% & more</td>
          <td colSpan={3}>
            did<b>not</b>run
          </td>
          <td />
        </tr>
      </tbody>
    </table>,
  );
  return sheetOf(screen.getByRole("table") as HTMLTableElement);
}

describe("a table as it is shown", () => {
  it("has its words, what stands below a figure in parentheses, and no column that only draws", () => {
    expect(shown()).toEqual({
      head: ["Variant", "Time to target mean, s", "lab (simulated)"],
      numeric: [false, true, false],
      rows: [
        ["a | b, c", "2.4 s (3 of 3 reached)", "1×"],
        ["50% & more", "did not run", ""],
      ],
    });
  });

  it("is Markdown and LaTeX with what they would read otherwise marked", () => {
    const sheet = shown();
    expect(markdownOf(sheet).split("\n").slice(0, 3)).toEqual([
      "| Variant | Time to target mean, s | lab (simulated) |",
      "| --- | ---: | --- |",
      "| a \\| b, c | 2.4 s (3 of 3 reached) | 1× |",
    ]);
    const lines = latexOf(sheet).split("\n");
    expect(lines[0]).toBe("\\begin{tabular}{lrl}");
    expect(lines[4]).toBe("a $|$ b, c & 2.4 s (3 of 3 reached) & 1$\\times$ \\\\");
    expect(lines[5]).toBe("50\\% \\& more & did not run &  \\\\");
  });
});

it("commas, quotes and formulas survive a spreadsheet", () => {
  const rows = [
    ["a, b", 'say "x"', "–"],
    ["=1+1", "-2.5", "-x"],
  ];
  expect(csvOf({ head: ["p", "q", "r"], rows })).toBe('p,q,r\r\n"a, b","say ""x""",\r\n\'=1+1,-2.5,\'-x\r\n');
});

describe("a cell that another program would read otherwise", () => {
  it.each([
    ["+1", "'+1"],
    ["@sum(a)", "'@sum(a)"],
    ["-1e-3", "-1e-3"],
    ["-", "'-"],
    ['=a&"b"', '"\'=a&""b"""'],
    ["two\nlines", '"two\nlines"'],
    ["", ""],
  ])("%j is %j in a file for spreadsheets", (text, expected) => {
    expect(csvOf({ head: ["a"], rows: [[text]] })).toBe(`a\r\n${expected}\r\n`);
  });

  it.each([
    ["a_b {c} #1 $2", "a\\_b \\{c\\} \\#1 \\$2"],
    ["C:\\x~y^2", "C:\\textbackslash{}x\\textasciitilde{}y\\textasciicircum{}2"],
    ["3 µs, τ = ∞", "3 $\\mu$s, $\\tau$ = $\\infty$"],
    ["−4", "$-$4"],
    ["0.5 |W|", "0.5 $|$W$|$"],
    ["> 0, < 1, ≤ 2, ≥ 3", "$>$ 0, $<$ 1, $\\le$ 2, $\\ge$ 3"],
    ["–", "--"],
  ])("%j is %j in LaTeX", (text, expected) => {
    const lines = latexOf({ head: ["a"], numeric: [false], rows: [[text]] }).split("\n");
    expect(lines[4]).toBe(`${expected} \\\\`);
  });
});

it("a table without a head or without rows is no fault", () => {
  const table = document.createElement("table");
  expect(sheetOf(table)).toEqual({ head: [], numeric: [], rows: [] });
  table.insertRow().insertCell().textContent = "alone";
  expect(sheetOf(table).rows).toEqual([["alone"]]);
  expect(markdownOf({ head: ["a"], numeric: [true], rows: [] })).toBe("| a |\n| ---: |");
});
