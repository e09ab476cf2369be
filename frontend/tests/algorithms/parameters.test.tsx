import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { ParametersTable } from "@/features/algorithms/parameters-table";
import { VerifiedTable } from "@/features/algorithms/verified-table";
import { show } from "../support/app";
import { algorithm } from "../support/fixtures/catalogue";

const PARAMETERS = {
  type: "object",
  properties: {
    weight_decay: {
      type: "number",
      title: "Weight decay",
      default: 0,
      minimum: 0,
      group: "Settings of the step",
    },
    lr: { type: "number", title: "Learning rate", description: "Step length.", exclusiveMinimum: 0 },
    alpha: {
      anyOf: [{ type: "number", minimum: 0, maximum: 2 }, { type: "null" }],
      title: "Moving rate",
      description: "Overrides `rho`.",
      default: null,
    },
    kind: { enum: ["heavy-ball", "nesterov"], title: "kind", default: "heavy-ball" },
    overlap: { type: "boolean", title: "Overlap", default: false },
    period: { type: "integer", title: "Period", default: 4 },
  },
};

const rows = () =>
  screen.getAllByTestId("parameter").map((row) =>
    within(row)
      .getAllByRole("cell")
      .map((cell) => cell.textContent?.replaceAll("\u00a0", " ")),
  );

it("a parameter has its default, its values, what tuning searches and its meaning; shared settings come last", () => {
  const method = algorithm("a", "A", {
    parameters: PARAMETERS,
    search: {
      lr: { low: 0.003, high: 1, scale: "log" },
      kind: { choices: ["heavy-ball", "nesterov"], when: { overlap: [false] } },
    },
  });
  show(<ParametersTable algorithm={method} />);
  expect(rows()).toEqual([
    ["lr", "required", "> 0", "0.003 to 1, log", "Learning rate. Step length."],
    ["alpha", "empty", "0 to 2, or empty", "", "Moving rate. Overrides rho."],
    ["kind", "heavy-ball", "heavy-ball, nesterov", "heavy-ball, nesterov, if overlap is false", ""],
    ["overlap", "false", "true or false", "", "Overlap"],
    ["period", "4", "a whole number", "", "Period"],
    ["weight_decay", "0", "at least 0", "", "Weight decay"],
  ]);
});

it("a method without parameters says so", () => {
  show(
    <ParametersTable algorithm={algorithm("a", "A", { parameters: { type: "object", properties: {} } })} />,
  );
  expect(screen.getByText("This algorithm has no parameters.")).toBeVisible();
});

it("what is verified in one world only has a dash for the other, and what is not claimed is named", () => {
  const verified = [{ property: "P1: alone", virtual: "1, 2", mpi: "" }];
  show(<VerifiedTable findings={{ remarks: [], verified, missing: "Not verified: P6." }} />);
  const [, row] = within(screen.getByTestId("verified-table")).getAllByRole("row");
  expect(row).toHaveTextContent("P1: alone1, 2–");
  expect(screen.getByText("Not verified: P6.")).toBeVisible();
});
