import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { choicesFrom } from "@/features/new-experiment/searched";
import { countOf, firstValues, positionOf, withSweep } from "@/features/new-experiment/sweeps";
import { VariantsSection } from "@/features/new-experiment/variants-section";
import { SEARCHED_CATALOGUE } from "../support/fixtures/tuning";
import { card, refill, showParts, WORKLOADS } from "./form";

const FIELD = {
  name: "lr",
  title: "Learning rate",
  description: "",
  kind: "number",
  nullable: false,
  choices: [],
  default: 0.1,
  bounds: "",
  group: "",
  least: undefined,
  greatest: undefined,
} as const;

describe("a sweep", () => {
  const draft = {
    variants: [
      { name: "A", sweep: { period: [4, 16], lr: [0.1, 0.2, 0.4] } },
      { name: "B", parameters: { lr: 0.3 }, search: { lr: null } },
    ],
  };

  it("stands for the product of its values, and moves the colours of what follows", () => {
    expect([countOf(draft.variants[0]), countOf(draft.variants[1])]).toEqual([6, 1]);
    expect([positionOf(draft, 0), positionOf(draft, 1)]).toEqual([0, 6]);
  });

  it("takes the place of a value and of a search, and leaves nothing behind", () => {
    const swept = withSweep(draft, 1, "lr", choicesFrom("0.1, 0.3"));
    expect(swept.variants).toEqual([
      draft.variants[0],
      { name: "B", parameters: {}, sweep: { lr: [0.1, 0.3] } },
    ]);
    expect(withSweep(swept, 1, "lr", undefined).variants).toEqual([
      draft.variants[0],
      { name: "B", parameters: {} },
    ]);
  });

  it("begins with the double and the half of a number that its bounds allow, or with all choices", () => {
    expect(firstValues(FIELD, undefined)).toEqual([0.05, 0.1, 0.2]);
    expect(firstValues({ ...FIELD, kind: "integer", least: 1 }, 1)).toEqual([1, 2]);
    expect(firstValues({ ...FIELD, kind: "choice", choices: ["a", "b"] }, "a")).toEqual(["a", "b"]);
    expect(firstValues({ ...FIELD, kind: "boolean" }, undefined)).toEqual([false, true]);
  });
});

describe("the card of a swept variant", () => {
  it("writes the values, says what they make, and can be undone", async () => {
    const { user, written } = showParts(
      <VariantsSection catalogue={SEARCHED_CATALOGUE} workloads={WORKLOADS} />,
    );
    const sweep = () => within(card(1).getByTestId("sweep"));
    await user.click(sweep().getByText("Sweep a parameter"));
    await user.selectOptions(sweep().getByLabelText("Sweep another parameter"), "Period");
    expect(written().variants[1]).toMatchObject({ parameters: {}, sweep: { period: [2, 4, 8] } });
    await refill(user, sweep().getByLabelText(/^Period: values/), "4, 16, 64, 256");
    expect(written().variants[1]?.sweep).toEqual({ period: [4, 16, 64, 256] });
    expect(card(1).queryByLabelText("Period")).toBeNull();
    expect(sweep().getByText("Sweep: this card makes 4 variants")).toBeVisible();
    expect(sweep().getByText(/Named “Sync EASGD \(period 4\)” and so on/)).toBeVisible();
    await user.click(sweep().getByRole("button", { name: "Remove sweep: Period" }));
    expect(written().variants[1]).not.toHaveProperty("sweep");
    expect(screen.queryByLabelText(/^Period: values/)).toBeNull();
  });
});
