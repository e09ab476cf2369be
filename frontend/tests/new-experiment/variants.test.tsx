import { act, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { VariantsSection } from "@/features/new-experiment/variants-section";
import { CATALOGUE } from "../support/fixtures/catalogue";
import { addVariant, card, choose, listOf, refill, showParts, WORKLOADS } from "./form";

const showVariants = () => showParts(<VariantsSection catalogue={CATALOGUE} workloads={WORKLOADS} />);

describe("variants", () => {
  it("begin with the baseline of the paper and its successor", () => {
    const { written } = showVariants();
    expect(screen.getAllByTestId("variant-card")).toHaveLength(2);
    expect(card(0).getByLabelText("Name")).toHaveValue("Original EASGD");
    expect(card(0).getByRole("radio", { name: "Baseline" })).toBeChecked();
    expect(card(1).getByRole("radio", { name: "Baseline" })).not.toBeChecked();
    expect(written()).toMatchObject({
      baseline: "Original EASGD",
      variants: [{ algorithm: "original-easgd" }, { algorithm: "sync-easgd" }],
    });
  });

  it("are added from the list, under the method's title", async () => {
    const { user, written } = showVariants();
    await choose(user, addVariant(), "Sync EASGD");
    expect(card(2).getByLabelText("Name")).toHaveValue("Sync EASGD 2");
    expect(card(2).getByRole("combobox", { name: "Algorithm" })).toHaveValue("Sync EASGD");
    expect(written().variants[2]).toEqual({
      name: "Sync EASGD 2",
      algorithm: "sync-easgd",
      parameters: {},
    });
  });

  it("are duplicated with their parameters, beside the original", async () => {
    const { user, written } = showVariants();
    await refill(user, card(0).getByLabelText("Learning rate"), "0.8");
    await user.click(card(0).getByRole("button", { name: "Duplicate" }));
    const { variants } = written();
    expect(variants.map(({ name }) => name)).toEqual(["Original EASGD", "Original EASGD 2", "Sync EASGD"]);
    expect(variants[1]).toMatchObject({ algorithm: "original-easgd", parameters: { lr: 0.8 } });
    await refill(user, card(1).getByLabelText("Learning rate"), "0.4");
    expect(card(0).getByLabelText("Learning rate")).toHaveValue("0.8");
  });

  it("hand the baseline on when it is removed", async () => {
    const { user, written } = showVariants();
    await user.click(card(0).getByRole("button", { name: "Remove" }));
    expect(screen.getAllByTestId("variant-card")).toHaveLength(1);
    expect(card(0).getByLabelText("Name")).toHaveValue("Sync EASGD");
    expect(card(0).getByRole("radio", { name: "Baseline" })).toBeChecked();
    expect(written().baseline).toBe("Sync EASGD");
  });

  it("carry the baseline along when renamed, and another can become it", async () => {
    const { user, written } = showVariants();
    await refill(user, card(0).getByLabelText("Name"), "Round robin");
    expect(card(0).getByRole("radio", { name: "Baseline" })).toBeChecked();
    expect(written().baseline).toBe("Round robin");
    await user.click(card(1).getByRole("radio", { name: "Baseline" }));
    expect(card(0).getByRole("radio", { name: "Baseline" })).not.toBeChecked();
    expect(written().baseline).toBe("Sync EASGD");
  });

  it("forget the parameters of a method that was replaced", async () => {
    const { user, written } = showVariants();
    await refill(user, card(1).getByLabelText("Elasticity"), "0.2");
    await choose(user, card(1).getByRole("combobox", { name: "Algorithm" }), "Sync SGD");
    expect(card(1).queryByLabelText("Elasticity")).toBeNull();
    expect(card(1).getByLabelText("Learning rate")).toHaveValue("0.2"); // its own default
    expect(written().variants[1]).toEqual({ name: "Sync SGD", algorithm: "sync-sgd", parameters: {} });
  });

  it("keep a name that somebody has given when their method is replaced, and else are named after the new one", async () => {
    const { user, written } = showVariants();
    const names = () => written().variants.map(({ name }) => name);
    await refill(user, card(1).getByLabelText("Name"), "Mine");
    await choose(user, card(1).getByRole("combobox", { name: "Algorithm" }), "Sync SGD");
    expect(names()).toEqual(["Original EASGD", "Mine"]);
    await refill(user, card(1).getByLabelText("Name"), "Sync SGD 2");
    await choose(user, card(1).getByRole("combobox", { name: "Algorithm" }), "Original EASGD (round robin)");
    expect(names()).toEqual(["Original EASGD", "Original EASGD 2"]);
    expect(written().baseline).toBe("Original EASGD");
  });
});

describe("the list of methods", () => {
  it("is grouped by the family that methods declare, a user's own first", async () => {
    const { user } = showVariants();
    await user.click(addVariant());
    const text = screen.getByRole("listbox", { name: "Add variant" }).textContent ?? "";
    const order = [
      "Your own",
      "Elastic gossippayload not declared",
      "Elastic averaging",
      "Hogwild EASGD",
      "Local steps",
      "DiLoCo0.05 |W| per step",
      "Stochastic",
    ];
    const places = order.map((word) => text.indexOf(word));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places).not.toContain(-1);
  });

  it("keeps the focus, so that several are added one after the other by keyboard", async () => {
    const { user, written } = showVariants();
    act(() => addVariant().focus());
    await user.keyboard("hogwild{ArrowDown}{Enter}");
    expect(addVariant()).toHaveFocus();
    expect(addVariant()).toHaveValue("");
    await user.keyboard("diloco{ArrowDown}{Enter}");
    expect(written().variants.map(({ name }) => name)).toEqual([
      "Original EASGD",
      "Sync EASGD",
      "Hogwild EASGD",
      "DiLoCo",
    ]);
  });

  it.each([
    ["goss", ["Elastic gossip"]],
    ["sgd", ["Original EASGD (round robin)", "Sync EASGD", "Hogwild EASGD", "Sync SGD"]],
    ["sync-sgd", ["Sync SGD"]], // as documents have it
    ["adam", []],
  ])("is narrowed to %s", async (typed, found) => {
    const { user } = showVariants();
    await user.type(addVariant(), typed);
    const options = listOf(addVariant()).queryAllByRole("option");
    expect(options.map((option) => option.firstElementChild?.firstChild?.textContent)).toEqual(found);
    const none = listOf(addVariant()).queryByText("No algorithm has this name");
    expect(none !== null).toBe(found.length === 0);
  });

  it("says where a method of one's own comes from, and which source each cluster has", async () => {
    const { user } = showVariants();
    await choose(user, addVariant(), "Elastic gossip");
    const own = card(2).getByTestId("own-source");
    expect(own).toHaveTextContent("Your own, from a file: ab12cd34ef56 on local, 77aa88bb99cc on rack");
    expect(card(0).queryByTestId("own-source")).toBeNull();
    expect(card(0).getByText("Original EASGD (round robin): one round at a time.")).toBeInTheDocument();
  });
});

describe("parameters", () => {
  it("show their default, say their bounds, and enter the document only when typed", async () => {
    const { user, written } = showVariants();
    const rate = card(1).getByLabelText("Learning rate");
    expect(rate).toHaveValue("0.1");
    expect(rate).toHaveAccessibleDescription(">\u00a00");
    expect(written().variants[1]?.parameters).toEqual({});
    await refill(user, rate, "7.2e-6");
    expect(rate).toHaveValue("7.2e-6"); // as typed, not as the number prints
    expect(written().variants[1]?.parameters).toEqual({ lr: 7.2e-6 });
    await user.clear(rate);
    expect(written().variants[1]?.parameters ?? {}).toEqual({});
  });

  it("say at once what is no number, and let the server refuse it", async () => {
    const { user, written } = showVariants();
    const rate = card(1).getByLabelText("Learning rate");
    await refill(user, rate, "fast");
    expect(rate).toHaveValue("fast");
    expect(rate).toBeInvalid();
    expect(card(1).getByText("Not a number.")).toBeVisible();
    expect(written().variants[1]?.parameters).toEqual({ lr: null });
    await refill(user, rate, "0.3");
    expect(rate).toBeValid();
  });

  it("of the exchange appear where they mean something", async () => {
    const { user, written } = showVariants();
    await user.click(card(1).getByText("Communication options"));
    expect(card(1).queryByLabelText("Error feedback")).toBeNull();
    expect(card(1).queryByLabelText("Bucket")).toBeNull();
    await user.selectOptions(card(1).getByLabelText("Wire type"), "bf16");
    await user.click(card(1).getByLabelText("Error feedback"));
    await user.selectOptions(card(1).getByLabelText("Packing"), "buckets");
    await refill(user, card(1).getByLabelText("Bucket"), "65536");
    const { variants } = written();
    expect(variants[1]?.communication).toEqual({
      wire: "bf16",
      error_feedback: true,
      packing: "buckets",
      bucket_bytes: 65_536,
    });
    expect(variants[0]?.communication).toBeUndefined();
  });
});
