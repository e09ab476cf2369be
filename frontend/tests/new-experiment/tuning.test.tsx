import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { TuningSection } from "@/features/new-experiment/tuning-section";
import { VariantsSection } from "@/features/new-experiment/variants-section";
import { SEARCHED_CATALOGUE } from "../support/fixtures/tuning";
import { card, choose, part, refill, showParts, WORKLOADS } from "./form";

function showTuning() {
  const { user, written } = showParts(
    <>
      <VariantsSection catalogue={SEARCHED_CATALOGUE} workloads={WORKLOADS} />
      <TuningSection catalogue={SEARCHED_CATALOGUE} workloads={WORKLOADS} />
    </>,
  );
  return { user, written, on: () => user.click(screen.getByTestId("has-tuning")) };
}

/** With tuning on; the second variant has a method with spaces. */
async function tuned() {
  const { user, written, on } = showTuning();
  await on();
  return { user, written, search: () => written().variants[1]?.search, on };
}

const spaces = () => within(card(1).getByTestId("search-spaces"));
const line = (title: string) =>
  spaces()
    .getByRole("rowheader", { name: (text) => text.startsWith(title) })
    .closest("tr") as HTMLElement;
const press = (words: string) => spaces().getByRole("button", { name: words });

describe("tuning", () => {
  it("is off, and the document says nothing of it", () => {
    const { written } = showTuning();
    expect(screen.getByTestId("has-tuning")).not.toBeChecked();
    expect(part("tuning").queryByLabelText("Trials")).toBeNull();
    expect(screen.queryByTestId("search-spaces")).toBeNull();
    expect(written()).not.toHaveProperty("tuning");
  });

  it("shows the fields of its schema when switched on, with their defaults", async () => {
    const { written } = await tuned();
    expect(part("tuning").getByLabelText("Trials")).toHaveValue("12");
    expect(part("tuning").getByLabelText("Trials")).toHaveAccessibleDescription("2 to 200");
    expect(part("tuning").getByLabelText("Search")).toHaveValue("quasi-random");
    expect(written().tuning).toEqual({});
    expect(written().variants.every((variant) => !("search" in variant))).toBe(true);
  });

  it("enters the document as typed", async () => {
    const { user, written } = await tuned();
    await refill(user, part("tuning").getByLabelText("Trials"), "8");
    await user.selectOptions(part("tuning").getByLabelText("Search"), "halving");
    await refill(user, part("tuning").getByLabelText("Samples"), "60 000");
    expect(written().tuning).toEqual({ trials: 8, search: "halving", samples: 60_000 });
  });

  it("has a sampler where Optuna searches, and as long as one is given", async () => {
    const { user, written } = await tuned();
    const chosen = (name: string, value: string) =>
      user.selectOptions(part("tuning").getByLabelText(name), value);
    expect(part("tuning").queryByLabelText("Sampler")).toBeNull();
    await chosen("Search", "optuna");
    await chosen("Sampler", "gp");
    expect(written().tuning).toEqual({ search: "optuna", sampler: "gp" });
    await chosen("Search", "halving");
    expect(part("tuning").getByLabelText("Sampler")).toHaveValue("gp");
  });

  it("may be decided by one of the experiment's clusters", async () => {
    const { user, written } = await tuned();
    const where = part("tuning").getByLabelText("Trials on");
    expect(within(where).getAllByRole("option")).toHaveLength(2);
    await user.selectOptions(where, "local, for all");
    expect(written().tuning).toEqual({ cluster: "local" });
    await user.selectOptions(where, "each cluster");
    expect(written().tuning).toEqual({});
  });

  it("switched off takes its spaces along, and brings them back", async () => {
    const { user, written, on } = await tuned();
    await refill(user, part("tuning").getByLabelText("Trials"), "8");
    await refill(user, spaces().getByLabelText("Learning rate, high"), "1");
    const before = written();
    await on();
    expect(written()).not.toHaveProperty("tuning");
    expect(written().variants[1]).not.toHaveProperty("search");
    await on();
    expect(written()).toEqual(before);
  });
});

it("the spaces of all variants are listed, as they are, and lead to the fields", async () => {
  const { user } = await tuned();
  const listed = () =>
    within(screen.getByTestId("searched"))
      .getAllByRole("row")
      .slice(1)
      .map((row) => [...row.querySelectorAll("td")].slice(0, 2).map((cell) => cell.textContent));
  expect(listed()[0]?.[1]).toBe("nothing: every trial would use the same setting");
  expect(listed()[1]?.[1]).toContain("lr 0.003 to 0.3, log; ");
  await user.click(press("Keep default: Learning rate"));
  expect(listed()[1]?.[1]).not.toContain("lr ");
  await user.click(press("Search: Learning rate"));
  await refill(user, spaces().getByLabelText("Learning rate, high"), "1");
  expect(listed()[1]?.[1]).toContain("lr 0.003 to 1, log (changed)");
  const edits = within(screen.getByTestId("searched")).getAllByRole("button", { name: /^Edit/ });
  await user.click(edits[0] as HTMLElement);
  expect(document.activeElement).toHaveAttribute("data-field", "/variants/0/search");
});

describe("the search spaces of a variant", () => {
  it("are those that its method declares", async () => {
    await tuned();
    expect(spaces().getByText("Tuning searches 3 parameters")).toBeVisible();
    expect(spaces().getByLabelText("Learning rate, low")).toHaveValue("0.003");
    expect(spaces().getByLabelText("Learning rate, high")).toHaveValue("0.3");
    expect(spaces().getByLabelText("Learning rate, scale")).toHaveDisplayValue("log");
    expect(spaces().getByLabelText("Kind of momentum, choices")).toHaveValue("heavy, nesterov");
    expect(line("Kind of momentum")).toHaveTextContent("only where momentum is 0.9");
    expect(within(card(0).getByTestId("search-spaces")).getByText(/Nothing to tune here/)).toBeVisible();
  });

  it("are changed as a whole, and reset", async () => {
    const { user, search } = await tuned();
    const low = () => spaces().getByLabelText("Learning rate, low");
    await refill(user, low(), "1e-3");
    expect(low()).toHaveValue("1e-3"); // as typed
    expect(search()).toEqual({ lr: { low: 0.001, high: 0.3, scale: "log" } });
    await user.selectOptions(spaces().getByLabelText("Learning rate, scale"), "linear");
    expect(search()).toEqual({ lr: { low: 0.001, high: 0.3, scale: "linear" } });
    await user.clear(low());
    expect(search()).toEqual({ lr: { high: 0.3 } }); // for the server to refuse
    await user.click(press("Reset: Learning rate"));
    expect(low()).toHaveValue("0.003");
    expect(search()).toBeUndefined();
  });

  it("may be choices, and keep their condition", async () => {
    const { user, search } = await tuned();
    await refill(user, spaces().getByLabelText("Kind of momentum, choices"), "heavy, 2, true");
    const kind = { choices: ["heavy", 2, true], when: { momentum: [0.9] } };
    expect(search()).toEqual({ kind });
  });

  it("are dropped for the default, and restored", async () => {
    const { user, search } = await tuned();
    await user.click(press("Keep default: Learning rate"));
    expect(search()).toEqual({ lr: null });
    expect(line("Learning rate")).toHaveTextContent("keeps its default, 0.1");
    expect(card(1).getByLabelText("Learning rate")).toHaveValue("0.1");
    expect(spaces().getByText("Tuning searches 2 parameters")).toBeVisible();
    await user.click(press("Search: Learning rate"));
    expect(search()).toBeUndefined();
    expect(card(1).getByLabelText("Learning rate")).toHaveValue("");
  });

  it("are added for other parameters, and removed", async () => {
    const { user, search } = await tuned();
    const others = spaces().getByLabelText("Search another parameter");
    const names = within(others).getAllByRole("option");
    expect(names.map((option) => option.textContent)).toEqual([
      "Search another parameter",
      "Elasticity",
      "Period",
    ]);
    await user.selectOptions(others, "Period");
    expect(search()).toEqual({ period: { low: 1, high: 40, scale: "log", integer: true } });
    expect(line("Period")).toHaveTextContent("whole numbers");
    expect(within(line("Period")).queryByRole("button", { name: /Reset/ })).toBeNull();
    await user.click(press("Keep default: Period"));
    expect(search()).toBeUndefined();
  });
});

describe("a parameter with a value", () => {
  it("is not searched, and says so; without it, it is searched again", async () => {
    const { user, search, written } = await tuned();
    const rate = card(1).getByLabelText("Learning rate");
    expect(rate).toHaveValue("");
    expect(rate).toHaveAttribute("placeholder", "searched");
    await refill(user, rate, "0.05");
    expect(line("Learning rate")).toHaveTextContent("has the value 0.05 above: not searched");
    expect(search()).toBeUndefined();
    expect(spaces().getByText("Tuning searches 2 parameters")).toBeVisible();
    await user.click(press("Search: Learning rate"));
    expect(rate).toHaveValue("");
    expect(written().variants[1]?.parameters).toEqual({});
  });

  it("can be a choice or a switch, that of the search among them", async () => {
    const { user, written } = await tuned();
    const [kind, overlap] = [card(1).getByLabelText("Kind of momentum"), card(1).getByLabelText("Overlap")];
    expect(kind).toHaveDisplayValue("searched");
    expect(overlap).toHaveDisplayValue("searched");
    await user.selectOptions(kind, "nesterov");
    await user.selectOptions(overlap, "true");
    expect(written().variants[1]?.parameters).toEqual({ kind: "nesterov", overlap: true });
    await user.selectOptions(kind, "searched");
    await user.selectOptions(overlap, "false");
    expect(written().variants[1]?.parameters).toEqual({ overlap: false });
  });

  it("and a space of its own keeps one of both", async () => {
    const { user, search, written } = await tuned();
    await refill(user, spaces().getByLabelText("Learning rate, high"), "1");
    await refill(user, card(1).getByLabelText("Learning rate"), "0.05");
    expect(search()).toHaveProperty("lr");
    await user.click(press("Keep the value: Learning rate"));
    expect(search()).toBeUndefined();
    expect(written().variants[1]?.parameters).toEqual({ lr: 0.05 });
  });
});

it("another method forgets the spaces of the one before", async () => {
  const { user, written } = await tuned();
  await refill(user, spaces().getByLabelText("Learning rate, high"), "1");
  await choose(user, card(1).getByRole("combobox", { name: "Algorithm" }), "Sync SGD");
  expect(written().variants[1]).toEqual({ name: "Sync SGD", algorithm: "sync-sgd", parameters: {} });
});
