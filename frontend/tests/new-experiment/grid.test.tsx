import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { cellText, cellValue, columnsOf, withCell, wordsOf } from "@/features/new-experiment/grid";
import { VariantsSection } from "@/features/new-experiment/variants-section";
import { fieldsFromSchema } from "@/lib/json/fields-from-schema";
import { algorithm, CATALOGUE } from "../support/fixtures/catalogue";
import { apiServer, Refusal } from "../support/server";
import { addVariant, card, choose, openForm, refill, row, settled, showParts, WORKLOADS } from "./form";

const PROPERTIES = {
  lr: { type: "number", title: "Learning rate", default: 0.1 },
  period: { type: "integer", title: "Period", default: 4 },
  kind: { enum: ["heavy", "nesterov"], title: "Kind", default: "heavy" },
  overlap: { type: "boolean", title: "Overlap", default: false },
  speeds: { type: "array", items: { type: "number" }, title: "Speeds", default: null },
};
const METHODS = [
  algorithm("a", "A", { parameters: { type: "object", properties: PROPERTIES } }),
  algorithm("b", "B", { parameters: { type: "object", properties: { lr: PROPERTIES.lr } } }),
];
const names = (draft: Record<string, unknown>, asked: string[] = []) =>
  columnsOf(draft, METHODS, asked).map(({ name }) => name);
const fieldOf = (name: string) => {
  const found = fieldsFromSchema(METHODS[0]?.parameters).find((field) => field.name === name);
  if (!found) throw new Error(name);
  return found;
};

describe("columns", () => {
  it("are the parameters in which a variant differs from its default, and those asked for", () => {
    const same = { variants: [{ algorithm: "a", parameters: { lr: 0.1 } }, { algorithm: "b" }] };
    expect(names(same)).toEqual([]);
    expect(names(same, ["period"])).toEqual(["period"]);
    const other = {
      variants: [{ algorithm: "b" }, { algorithm: "a", parameters: { period: 8, speeds: [1, 2] } }],
    };
    expect(names(other)).toEqual(["period"]);
    expect(names({ variants: [{ algorithm: "a", sweep: { kind: ["heavy", "nesterov"] } }] })).toEqual([
      "kind",
    ]);
  });

  it("leave to words what they do not show", () => {
    const variant = {
      algorithm: "a",
      parameters: { lr: 0.1, period: 8, speeds: [1, 0.5] },
      communication: { wire: "bf16" },
      sweep: { kind: ["heavy", "nesterov"] },
    };
    const draft = { variants: [variant] };
    expect(wordsOf(draft, 0, METHODS[0], columnsOf(draft, METHODS, []))).toEqual([
      "2 variants",
      "speeds 1, 0.5",
      "wire bf16",
    ]);
    expect(wordsOf(draft, 0, METHODS[0], [])).toContain("period 8");
  });

  it("say of the communication only what is no default", () => {
    const variant = { algorithm: "a", communication: { wire: "bf16", collective: "halving" } };
    const schema = {
      properties: {
        wire: { type: "string", default: "fp32" },
        collective: { type: "string", default: "halving" },
      },
    };
    expect(wordsOf({ variants: [variant] }, 0, METHODS[0], [], schema)).toEqual(["wire bf16"]);
  });
});

describe("a cell", () => {
  it.each([
    ["lr", "0.3", 0.3],
    ["lr", " 1e-3, 0.1,", [0.001, 0.1]],
    ["lr", "", undefined],
    ["lr", "fast", Number.NaN],
    ["lr", "0,05", Number.NaN],
    ["lr", "0, 05", [0, 5]],
    ["period", "0,5", [0, 5]],
    ["period", "4 16 64", Number.NaN],
    ["kind", "nesterov", "nesterov"],
    ["overlap", "true", true],
    ["overlap", "true, false", [true, false]],
  ])("reads %s typed as “%s”", (name, text, value) => {
    expect(cellValue(text, fieldOf(name))).toEqual(value);
  });

  it("keeps the commas of a text, and the sweep of a text", () => {
    const field = { ...fieldOf("kind"), kind: "text" as const };
    expect(cellValue("a, b", field)).toBe("a, b");
    expect(cellValue("a, bc", field, ["a", "b"])).toEqual(["a", "bc"]);
    expect(cellValue("1, 2", field, ["1"])).toEqual(["1", "2"]);
    expect(cellValue("a,", field, ["a", "b"])).toBe("a");
    expect(cellValue("", field, ["a", "b"])).toBeUndefined();
  });

  it("is a value, a sweep or nothing in the document", () => {
    const draft = { variants: [{ algorithm: "a", search: { lr: null } }] };
    const swept = withCell(draft, 0, "lr", [0.1, 0.2]);
    expect(swept.variants).toEqual([{ algorithm: "a", sweep: { lr: [0.1, 0.2] } }]);
    const one = withCell(swept, 0, "lr", 0.3);
    expect(one.variants).toEqual([{ algorithm: "a", parameters: { lr: 0.3 } }]);
    expect(withCell(one, 0, "lr", undefined).variants).toEqual([{ algorithm: "a", parameters: {} }]);
    expect(cellText([1e-7, null, "x"])).toBe("1e-7, empty, x");
  });
});

describe("the rows of variants", () => {
  const open = () => screen.getAllByTestId("edit-variant").map((one) => one.getAttribute("aria-expanded"));

  it("are closed at first, and one is open at a time", async () => {
    const { user } = showParts(<VariantsSection catalogue={CATALOGUE} workloads={WORKLOADS} />);
    expect(open()).toEqual(["false", "false"]);
    await user.click(screen.getByRole("button", { name: "Edit: Original EASGD" }));
    expect(row(0).getByRole("combobox", { name: "Algorithm" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Edit: Sync EASGD" }));
    expect(open()).toEqual(["false", "true"]);
    await choose(user, addVariant(), "Sync SGD");
    expect(open()).toEqual(["false", "false", "true"]);
    await user.click(screen.getByRole("button", { name: "Close: Sync SGD" }));
    expect(screen.queryByRole("combobox", { name: "Algorithm" })).toBeNull();
  });

  it("hold values in a column, which stays while it is typed in", async () => {
    const { user, written } = showParts(<VariantsSection catalogue={CATALOGUE} workloads={WORKLOADS} />);
    expect(screen.queryByRole("columnheader", { name: "Elasticity" })).toBeNull();
    await user.selectOptions(screen.getByLabelText("Add a column"), "Elasticity");
    expect(screen.getByRole("columnheader", { name: "Elasticity" })).toBeVisible();
    const cell = () => row(1).getByLabelText("Elasticity");
    expect(cell()).toHaveAttribute("placeholder", "0.05");
    await refill(user, cell(), "0.1, 0.2");
    expect(written().variants[1]).toMatchObject({ sweep: { rho: [0.1, 0.2] } });
    await refill(user, cell(), "0.2");
    expect(cell()).toHaveFocus();
    expect(written().variants[1]).toEqual({
      name: "Sync EASGD",
      algorithm: "sync-easgd",
      parameters: { rho: 0.2 },
    });
    await refill(user, card(0).getByLabelText("Learning rate"), "0.8");
    await user.click(screen.getByRole("button", { name: "Close: Original EASGD" }));
    const rate = row(0).getByLabelText("Learning rate");
    expect(rate).toHaveValue("0.8");
    await user.clear(rate);
    expect(row(0).getByLabelText("Learning rate")).toHaveFocus();
    await user.tab();
    expect(screen.queryByRole("columnheader", { name: "Learning rate" })).toBeNull();
  });

  it("keep the focus among them when one is duplicated or removed", async () => {
    const { user } = showParts(<VariantsSection catalogue={CATALOGUE} workloads={WORKLOADS} />);
    await user.click(card(0).getByRole("button", { name: "Duplicate" }));
    expect(screen.getByRole("button", { name: "Close: Original EASGD 2" })).toHaveFocus();
    await user.click(card(2).getByRole("button", { name: "Remove" }));
    expect(screen.getByRole("button", { name: "Edit: Original EASGD 2" })).toHaveFocus();
  });
});

describe("problems of a closed row", () => {
  const server = apiServer();

  it("are counted in it, and open it", async () => {
    const { user } = await openForm(server);
    const faults = ["parameters/lr", "communication/wire"].map((place) => ({
      pointer: `/variants/1/${place}`,
      message: "not so",
    }));
    server.on("POST /experiments/dry-run", new Refusal(422, "It has faults.", faults));
    await refill(user, screen.getByLabelText("Batch"), "16");
    await settled();
    expect(row(0).getByTestId("edit-variant")).toHaveTextContent("Edit");
    await user.click(screen.getByRole("button", { name: "2 problems: Sync EASGD" }));
    expect(row(1).getByLabelText("Learning rate")).toHaveAccessibleDescription(/not so/);
  });
});
