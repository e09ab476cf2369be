import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { changesOf } from "@/features/new-experiment/changes";
import { experiment } from "../support/fixtures/experiment";
import { apiServer } from "../support/server";
import { openForm, settled } from "./form";

const server = apiServer();
const BEFORE = {
  name: "First",
  batch: 32,
  budget: { samples: 1000, max_seconds: null },
  variants: [
    { name: "A", algorithm: "sync-easgd", parameters: { rho: 0.5, max_norm: 2 } },
    { name: "B", algorithm: "sync-sgd", parameters: {} },
  ],
  clusters: [{ name: "local", workers: [2, 4] }],
};

describe("what a document has differently", () => {
  it("is nothing of the same, in whatever order", () => {
    expect(changesOf(BEFORE, structuredClone(BEFORE))).toEqual([]);
    expect(changesOf(BEFORE, { ...BEFORE, variants: [...BEFORE.variants].reverse() })).toEqual([]);
  });

  it("is nothing where what was given as nothing is left out", () => {
    const after = { ...BEFORE, target: null, budget: { samples: 1000 } };
    expect(changesOf(BEFORE, after)).toEqual([]);
    const target = { metric: "validation_accuracy", value: 0.9 };
    expect(changesOf({ ...BEFORE, target }, after).map(({ place }) => place)).toEqual([
      "target metric",
      "target value",
    ]);
  });

  it("is said with place, before and after; variants and clusters are known by their names", () => {
    const after = {
      ...BEFORE,
      name: "Second",
      budget: { samples: 2000, max_seconds: null },
      trace: true,
      variants: [
        { name: "C", algorithm: "sync-sgd", parameters: {} },
        { name: "A", algorithm: "sync-easgd", parameters: { max_norm: 3 } },
      ],
      clusters: [{ name: "local", workers: [2, 8] }],
    };
    expect(changesOf(BEFORE, after).map(({ place, before, after }) => [place, before, after])).toEqual([
      ["name", "First", "Second"],
      ["budget samples", "1,000", "2,000"],
      ["trace", undefined, "yes"],
      ["A rho", "0.5", undefined],
      ["A max norm", "2", "3"],
      ["variant B", "included", "removed"],
      ["variant C", undefined, "added"],
      ["local workers", "[2,4]", "[2,8]"],
    ]);
  });
});

it("a clone counts what was changed, and shows it", async () => {
  server.on("GET /experiments/*", experiment({ id: "exp_7" }));
  const { user } = await openForm(server, "/new?clone=exp_7");
  await settled();
  await user.click(screen.getByRole("tab", { name: "Changes (0)" }));
  expect(screen.getByText("No changes from the original.")).toBeVisible();
  const name = screen.getByRole("textbox", { name: /Name of the experiment/ });
  await user.clear(name);
  await user.type(name, "Again");
  await waitFor(() => expect(screen.getByRole("tab", { name: "Changes (1)" })).toBeVisible());
  const cells = within(screen.getByTestId("change")).getAllByRole("cell");
  expect(cells.map((cell) => cell.textContent)).toEqual(["name", experiment().name, "Again"]);
});
