import { screen } from "@testing-library/react";
import { beforeEach, expect, it, vi } from "vitest";
import { LineChart } from "@/lib/charts/line-chart";
import { sheetOf } from "@/lib/export/sheet";
import { isolated } from "@/lib/format/isolated";
import { variantStyle } from "@/lib/theme/palette";
import { TableRegion } from "@/lib/ui/table-region";
import { show } from "../support/app";
import { copied } from "../support/clipboard";

const saved: { name: string; text: Promise<string> }[] = [];

beforeEach(() => {
  saved.length = 0;
  let last: Blob | undefined;
  Object.assign(URL, {
    createObjectURL: (content: Blob) => {
      last = content;
      return "blob:x";
    },
    revokeObjectURL: () => undefined,
  });
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
    saved.push({ name: this.download, text: last?.text() ?? Promise.resolve("") });
  });
});

const table = (
  <TableRegion label="Comparison, 2 workers">
    <table>
      <thead>
        <tr>
          <th>A</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <td>1</td>
        </tr>
      </tbody>
    </table>
  </TableRegion>
);

it("a table leaves as a file, or through the clipboard, and as a file where there is none", async () => {
  const { user } = show(table);
  const menu = () => screen.getByRole("button", { name: /Comparison, 2 workers$/ });
  await user.click(menu());
  await user.click(await screen.findByRole("menuitem", { name: "Save as CSV" }));
  expect(saved[0]?.name).toBe("comparison-2-workers.csv");
  expect(await saved[0]?.text).toBe("A\r\n1\r\n");

  await user.click(menu());
  await user.click(await screen.findByRole("menuitem", { name: "Copy as Markdown" }));
  expect(await screen.findByText("Copied")).toBeVisible();
  expect(await copied()).toBe("| A |\n| --- |\n| 1 |");

  vi.spyOn(navigator.clipboard, "writeText").mockRejectedValue(new Error("not over plain HTTP"));
  await user.click(menu());
  await user.click(await screen.findByRole("menuitem", { name: "Copy as LaTeX" }));
  expect(await screen.findByText("Saved")).toBeVisible();
  expect(saved[1]?.name).toBe("comparison-2-workers.tex");
});

it("a chart leaves as lines and as its points", async () => {
  const { user } = show(
    <LineChart
      title="Accuracy"
      series={[{ label: "A", style: variantStyle(0), x: [0, 1], y: [0.2, 1] }]}
      xTitle="s"
      formatX={String}
      tickX={String}
      formatY={String}
      tickY={String}
    />,
  );
  const choose = async (name: string) => {
    await user.click(screen.getByRole("button", { name: "Export: Accuracy" }));
    await user.click(await screen.findByRole("menuitem", { name }));
  };
  await choose("Save as SVG");
  await choose("Save as CSV");
  expect(saved.map(({ name }) => name)).toEqual(["accuracy.svg", "accuracy.csv"]);
  expect(await saved[0]?.text).toMatch(/^<svg .*>Accuracy</s);
  expect(await saved[1]?.text).toBe("curve,s,Accuracy,low,high\r\nA,0,0.2,,\r\nA,1,1,,\r\n");
});

it("a chart is shown as a table of what is in view", async () => {
  const { user } = show(
    <LineChart
      title="Accuracy"
      series={[
        { label: "A", style: variantStyle(0), x: [0, 1, 2], y: [0.2, null, 1], detail: (x) => `at ${x}` },
        { label: "B", style: variantStyle(1), x: [1, 3], y: [0.5, 0.6] },
      ]}
      xTitle="s"
      formatX={(value) => `${value} s`}
      tickX={String}
      formatY={(value) => `${value * 100}%`}
      tickY={String}
      zoom={[0.5, 2.5]}
      onZoom={() => undefined}
    />,
  );
  await user.click(screen.getByRole("button", { name: "Export: Accuracy" }));
  await user.click(await screen.findByRole("menuitem", { name: "Show as a table" }));
  const table = await screen.findByTestId("chart-table");
  const rows = [...table.querySelectorAll("tr")].map((row) =>
    [...row.children].map((cell) => cell.textContent),
  );
  expect(rows).toEqual([
    ["s", "A", "B"],
    ["1 s", "", "50%"],
    ["2 s", "100%", ""],
  ]);
  expect(table.querySelector("[title='at 2']")).toHaveTextContent("100%");
  await user.keyboard("{Escape}");
  expect(screen.queryByTestId("chart-table")).toBeNull();
});

it("a table that leaves as a file has none of the signs that keep names apart", () => {
  const name = "\u05e7\u05e6\u05d1";
  const table = document.createElement("table");
  const row = table.createTHead().insertRow();
  row.insertCell().textContent = isolated(`of ${name}`, [name]);
  expect(sheetOf(table).head).toEqual([`of ${name}`]);
});
