import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { FormContext } from "@/features/new-experiment/form-context";
import { SchemaForm } from "@/features/new-experiment/schema-form";
import { show } from "../support/app";
import { part, refill, showParts } from "./form";

const group = "Settings of the step";
const SCHEMA = {
  type: "object",
  properties: {
    lr: { type: "number", title: "Learning rate", default: 0.1 },
    schedule: { enum: ["constant", "cosine", "step"], title: "Schedule", default: "constant", group },
    milestones: {
      type: "array",
      items: { type: "number", exclusiveMaximum: 1 },
      title: "Milestones",
      default: [0.5, 0.75],
      group,
    },
    period: { type: "integer", title: "Period", default: 1 },
  },
};
const path = ["variants", 0, "parameters"];

it("folds the fields of a group away, below all others, and names those with a value", async () => {
  const { user, written } = showParts(<SchemaForm schema={SCHEMA} path={path} />);
  const fields = part("field-group");
  expect(screen.getByTestId("field-group")).not.toHaveAttribute("open");
  expect(fields.getByText(group)).toBeVisible();
  expect(fields.queryByLabelText("Learning rate")).toBeNull();
  expect(fields.queryByLabelText("Period")).toBeNull();
  await user.selectOptions(fields.getByLabelText("Schedule"), "step");
  expect(fields.getByText(`${group}: schedule`)).toBeVisible();
  expect(written().variants[0]?.parameters).toEqual({ schedule: "step" });
});

it("reads a list of numbers between commas, and leaves an empty one to its default", async () => {
  const { user, written } = showParts(<SchemaForm schema={SCHEMA} path={path} />);
  const field = screen.getByLabelText("Milestones");
  expect(field).toHaveValue("0.5, 0.75");
  await refill(user, field, "0.3,0.6, 0.9");
  expect(field).toHaveValue("0.3,0.6, 0.9");
  expect(written().variants[0]?.parameters).toEqual({ milestones: [0.3, 0.6, 0.9] });
  await refill(user, field, "0.3, soon");
  expect(screen.getByText("One of these is not a number.")).toBeInTheDocument();
  expect(field).toHaveValue("0.3, soon");
  await refill(user, field, "");
  expect(written().variants[0]?.parameters).toEqual({});
});

it("is open where a value of it is refused", () => {
  const faults = new Map([["/variants/0/parameters/milestones", "write them in ascending order"]]);
  const draft = { variants: [{ parameters: { milestones: [0.9, 0.3] } }] };
  const rest = { change: () => {}, problems: [], opened: undefined, open: () => {} };
  show(
    <FormContext value={{ draft, faults, ...rest }}>
      <SchemaForm schema={SCHEMA} path={path} />
    </FormContext>,
  );
  expect(screen.getByTestId("field-group")).toHaveAttribute("open");
  expect(screen.getByText("write them in ascending order")).toBeVisible();
});
