import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { firstSpace, searchable, searchedParameters } from "@/features/new-experiment/searched";
import {
  givenAt,
  searchedSettings,
  settingName,
  withSettings,
} from "@/features/new-experiment/searched-workload";
import { TuningSection } from "@/features/new-experiment/tuning-section";
import { VariantsSection } from "@/features/new-experiment/variants-section";
import { algorithm, workload } from "../support/fixtures/catalogue";
import { SEARCHED_CATALOGUE } from "../support/fixtures/tuning";
import { card, refill, showParts } from "./form";

const SCHEMA = {
  type: "object",
  properties: {
    labels: { type: "integer", title: "Labels", default: 10 },
    hashes: {
      type: "integer",
      title: "Hashes per table",
      default: 9,
      minimum: 1,
      maximum: 24,
      per_variant: true,
    },
  },
};

describe("settings of the workload in a search", () => {
  it("have names of their own, and their values a place of their own", () => {
    expect(settingName("workload.hashes")).toBe("hashes");
    expect(settingName("lr")).toBeUndefined();
    expect(givenAt(1, "workload.hashes")).toEqual(["variants", 1, "workload_settings", "hashes"]);
    expect(givenAt(1, "lr")).toEqual(["variants", 1, "parameters", "lr"]);
  });

  it("are those that a variant may set, with the experiment's values as defaults", () => {
    const offered = withSettings(algorithm("sgd", "SGD"), SCHEMA, { hashes: 7 });
    const fields = searchable({}, offered).filter((field) => settingName(field.name) !== undefined);
    expect(fields.map(({ name, title, default: value }) => [name, title, value])).toEqual([
      ["workload.hashes", "Hashes per table", 7],
    ]);
    expect(withSettings(algorithm("sgd", "SGD"), undefined, {})).toEqual(algorithm("sgd", "SGD"));
  });

  it("begin in the space that the workload declares where its conditions hold", () => {
    const few = { low: 30, high: 1000, scale: "log", integer: true };
    const more = { low: 330, high: 1300, scale: "log", integer: true };
    const properties = {
      output: { enum: ["full", "sampled", "slide"], default: "full", per_variant: true },
      sets: { enum: ["batch", "item"], default: "batch", per_variant: true },
      active: {
        type: "integer",
        default: 1000,
        per_variant: true,
        search: [
          { ...few, when: { output: ["sampled"] } },
          { ...more, when: { output: ["slide"] }, unless: { sets: ["item"] } },
        ],
      },
    };
    const first = (given: object, own?: object) => {
      const offered = withSettings(algorithm("sgd", "SGD"), { type: "object", properties }, given, own);
      const field = searchable({}, offered).find(({ name }) => name === "workload.active");
      return field && firstSpace(field);
    };
    expect(first({}, { output: "sampled" })).toEqual(few);
    expect(first({ output: "sampled" })).toEqual(few);
    expect(first({ output: "sampled" }, { output: "slide" })).toEqual(more);
    const around = { low: 100, high: 10_000, scale: "log", integer: true };
    expect(first({}, { output: "slide", sets: "item" })).toEqual(around);
    expect(first({})).toEqual(around);
  });

  it("are not searched where the variant gives them a value", () => {
    const space = { low: 4, high: 12, integer: true };
    const variant = { workload_settings: { hashes: 5 }, search: { "workload.hashes": space } };
    const [row] = searchedParameters(variant, withSettings(algorithm("sgd", "SGD"), SCHEMA, {})).slice(-1);
    expect(row).toMatchObject({ name: "workload.hashes", state: "given", value: 5 });
    expect(searchedSettings(variant)).toEqual(new Set(["hashes"]));
    expect(searchedSettings({ search: { "workload.hashes": null, lr: space } })).toEqual(new Set());
  });

  it("get a space in the editor and lose the value that was given", async () => {
    const { user, written } = showParts(
      <>
        <VariantsSection
          catalogue={SEARCHED_CATALOGUE}
          workloads={[workload("digits-mlp", { parameters: SCHEMA })]}
        />
        <TuningSection catalogue={SEARCHED_CATALOGUE} workloads={[]} />
      </>,
    );
    await user.click(screen.getByTestId("has-tuning"));
    await user.click(card(1).getByText("Settings of the workload"));
    const field = card(1).getByRole("textbox", { name: "Hashes per table" });
    await refill(user, field, "5");
    expect(written().variants[1]).toMatchObject({ workload_settings: { hashes: 5 } });
    const spaces = within(card(1).getByTestId("search-spaces"));
    await user.selectOptions(
      spaces.getByLabelText("Search another parameter"),
      "Hashes per table (workload)",
    );
    expect(written().variants[1]?.search).toEqual({
      "workload.hashes": { low: 1, high: 24, scale: "log", integer: true },
    });
    expect(written().variants[1]?.workload_settings ?? {}).toEqual({});
    expect(spaces.getByText("workload.hashes")).toBeVisible();
  });
});
