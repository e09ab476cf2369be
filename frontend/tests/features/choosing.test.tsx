import { screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { between } from "@/features/experiments/use-chosen";
import { openApp } from "../support/app";
import { summary } from "../support/fixtures/experiment";
import { apiServer } from "../support/server";

describe("what stands between two of a list", () => {
  it.each([
    ["b", "d", ["b", "c", "d"]],
    ["d", "b", ["b", "c", "d"]],
    ["c", "c", ["c"]],
    ["gone", "c", ["c"]],
    [undefined, "c", ["c"]],
  ])("%s and %s", (from, to, expected) => {
    expect(between(["a", "b", "c", "d"], from, to)).toEqual(expected);
  });
});

const server = apiServer();
const box = (number: number) => screen.getByRole("checkbox", { name: `Select Comparison ${number}` });
const selected = () => [9, 8, 7, 6].filter((number) => (box(number) as HTMLInputElement).checked);

beforeEach(() => {
  server.on("GET /experiments", { items: [9, 8, 7, 6].map((number) => summary(number)), next_cursor: null });
});

describe("experiments are selected", () => {
  it("from one to another while Shift is held, and left out again", async () => {
    const { user } = openApp(server, "/");
    await screen.findAllByTestId("experiment-item");
    await user.click(box(6));
    await user.keyboard("{Shift>}");
    await user.click(box(8));
    expect(selected()).toEqual([8, 7, 6]);
    await user.click(box(7));
    await user.keyboard("{/Shift}");
    expect(selected()).toEqual([6]);
    await user.click(box(9));
    expect(selected()).toEqual([9, 6]);
  });

  it("and compared, as rows of one table", async () => {
    const { user } = openApp(server, "/");
    await screen.findAllByTestId("experiment-item");
    await user.click(box(9));
    await user.click(box(7));
    const compare = await screen.findByTestId("selected-compare");
    expect(decodeURIComponent(compare.getAttribute("href") ?? "")).toBe('/compare?rows=["9","7"]');
  });

  it("and not compared where they are too many, which is said", async () => {
    const items = Array.from({ length: 21 }, (_, at) => summary(40 - at));
    server.on("GET /experiments", { items, next_cursor: null });
    const { user } = openApp(server, "/");
    await screen.findAllByTestId("experiment-item");
    await user.click(box(40));
    await user.click(await screen.findByTestId("select-all"));
    const why = "A comparison takes at most 20 experiments; 21 are selected.";
    const refused = within(await screen.findByRole("group", { name: why }));
    expect(refused.getByRole("button", { name: "Compare" })).toBeDisabled();
    await user.click(box(40));
    expect((await screen.findByTestId("selected-compare")).getAttribute("href")).toMatch(/^\/compare\?rows=/);
  });

  it("all that are listed at once", async () => {
    const { user } = openApp(server, "/");
    await screen.findAllByTestId("experiment-item");
    await user.click(box(8));
    await user.click(await screen.findByRole("button", { name: "Select all" }));
    expect(selected()).toEqual([9, 8, 7, 6]);
    expect(screen.getByText("4 selected")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Select all" })).toBeNull();
    await user.click(screen.getByRole("button", { name: "Clear" }));
    expect(selected()).toEqual([]);
    await user.keyboard("{Shift>}");
    await user.click(box(6));
    await user.keyboard("{/Shift}");
    expect(selected(), "nothing stays of what was cleared").toEqual([6]);
  });
});
