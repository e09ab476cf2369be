import { describe, expect, it } from "vitest";
import { settable } from "@/features/new-experiment/searched-workload";
import { VariantsSection } from "@/features/new-experiment/variants-section";
import { CATALOGUE, workload } from "../support/fixtures/catalogue";
import { card, refill, showParts, WORKLOADS } from "./form";

const SCHEMA = {
  type: "object",
  properties: {
    labels: { type: "integer", title: "Labels", default: 10 },
    active: { type: "integer", title: "Active set", default: 1000, per_variant: true },
  },
};

describe("settings of the workload", () => {
  it("are the parameters that a variant may set, with the experiment's values as defaults", () => {
    expect(settable(SCHEMA, { labels: 5, active: 40 })).toEqual({
      type: "object",
      properties: { active: { ...SCHEMA.properties.active, default: 40 } },
    });
    expect(settable(SCHEMA, {})).toMatchObject({ properties: { active: { default: 1000 } } });
    expect(settable(WORKLOADS[0]?.parameters, {})).toBeUndefined();
    expect(settable(undefined, undefined)).toBeUndefined();
  });

  it("belong to one variant", async () => {
    const workloads = [workload("digits-mlp", { parameters: SCHEMA })];
    const { user, written } = showParts(<VariantsSection catalogue={CATALOGUE} workloads={workloads} />);
    await user.click(card(1).getByText("Settings of the workload"));
    expect(card(1).queryByLabelText("Labels")).toBeNull();
    await refill(user, card(1).getByLabelText("Active set"), "64");
    expect(written().variants[0]).not.toHaveProperty("workload_settings");
    expect(written().variants[1]).toMatchObject({ workload_settings: { active: 64 } });
    expect(card(1).getByText("Settings of the workload: active")).toBeVisible();
  });

  it("are not shown where there are none", () => {
    showParts(<VariantsSection catalogue={CATALOGUE} workloads={WORKLOADS} />);
    expect(card(0).queryByTestId("workload-settings")).toBeNull();
  });
});
