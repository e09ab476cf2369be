import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Role } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { comparison, experiment, summary } from "../support/fixtures/experiment";
import { me } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const CHANGING = ["star", "item-menu"];

async function open(role: Role) {
  const items = [
    summary(7, { user: "ana", state: "succeeded", tags: ["paper"] }),
    summary(8, { user: "ben", state: "succeeded" }),
  ];
  server.on("GET /me", me(role)).on("GET /experiments", { items, next_cursor: null });
  const app = openApp(server, "/");
  await screen.findByText("Comparison 8");
  await screen.findByTestId("person"); // it is known who looks
  return app;
}

function controls(number: number) {
  const [item] = screen
    .getAllByTestId("experiment-item")
    .filter((each) => each.dataset.id === `exp_${number}`)
    .map((each) => within(each));
  if (!item) throw new Error(`experiment ${number} is not listed`);
  return CHANGING.map((id) => item.getByTestId(id));
}

describe("the list of experiments", () => {
  it("offers a viewer no star and no menu that changes, and says why", async () => {
    const { user } = await open("viewer");
    for (const control of [...controls(7), ...controls(8)]) expect(control).toBeDisabled();
    const [why] = screen.getAllByRole("group", { name: /This needs the role researcher; yours is viewer/ });
    if (!why) throw new Error("no reason is given");
    await user.hover(why);
    expect(await screen.findByRole("tooltip")).toHaveTextContent("yours is viewer");
    await user.click(screen.getByRole("link", { name: "paper" }));
    await waitFor(() => expect(screen.getByTestId("filter")).toHaveValue("tag = paper"));
    expect(server.askedFor("PATCH /experiments/*")).toEqual([]);
  });

  it("lets a viewer select, but change nothing that is selected", async () => {
    const { user } = await open("viewer");
    await user.click(screen.getByLabelText("Select Comparison 7"));
    for (const action of ["star", "archive", "delete"])
      expect(await screen.findByTestId(`selected-${action}`), action).toBeDisabled();
    await user.click(screen.getByRole("button", { name: "Clear" }));
    expect(screen.queryByTestId("selection")).toBeNull();
  });

  it("offers a researcher only what is theirs", async () => {
    const { user } = await open("researcher");
    for (const control of controls(7)) expect(control).toBeEnabled();
    for (const control of controls(8)) expect(control).toBeDisabled();
    await user.click(screen.getByLabelText("Select Comparison 7"));
    expect(await screen.findByTestId("selected-delete")).toBeEnabled();
    await user.click(screen.getByLabelText("Select Comparison 8"));
    expect(screen.getByTestId("selected-delete")).toBeDisabled();
    const bar = within(screen.getByTestId("selection"));
    expect(bar.getByRole("group", { name: /only ben or an operator can change it/ })).toBeVisible();
  });

  it("offers an operator what is of others as well", async () => {
    await open("operator");
    for (const control of [...controls(7), ...controls(8)]) expect(control).toBeEnabled();
    expect(screen.queryByTestId("refused")).toBeNull();
  });
});

describe("a viewer", () => {
  it("restores no deleted experiment", async () => {
    const gone = {
      id: "exp_3",
      number: 3,
      name: "Comparison 3",
      workload: "digits-mlp",
      created_at: "2026-05-01T12:00:00Z",
      deleted_at: "2026-05-02T12:00:00Z",
      deleted_by: "ana",
      purge_at: "2026-05-09T12:00:00Z",
    };
    server.on("GET /me", me("viewer")).on("GET /deleted-experiments", { items: [gone], next_cursor: null });
    openApp(server, "/?show=deleted");
    await screen.findByTestId("person");
    expect(await screen.findByRole("button", { name: "Restore Comparison 3" })).toBeDisabled();
  });

  it("reads star, tags and note on the page of an experiment, and does not change them", async () => {
    server
      .on("GET /me", me("viewer"))
      .on("GET /experiments/*", experiment({ tags: ["paper"] }))
      .on("GET /experiments/*/comparison", comparison())
      .on("GET /experiments/*/bands", new Refusal(404, "nothing is measured"))
      .on("GET /runs", { items: [], next_cursor: null });
    openApp(server, "/experiments/exp_7?tab=json");
    await screen.findByTestId("person");
    const marks = within(await screen.findByTestId("marks"));
    expect(marks.getByRole("link", { name: "paper" })).toBeVisible();
    expect(marks.getByTestId("star")).toBeDisabled();
    expect(marks.getByTestId("edit-marks")).toBeDisabled();
  });
});
