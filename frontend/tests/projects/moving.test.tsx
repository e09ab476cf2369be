import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { answerExperiment, openExperiment } from "../experiment/page";
import { openApp } from "../support/app";
import { experiment, summary } from "../support/fixtures/experiment";
import { me, project } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const projects = [
  project("default"),
  project("vision"),
  project("past", { archived: true }),
  project("read-only", { role: "viewer" }),
];
const asked = () =>
  server.askedFor("PUT /experiments/*/project").map(({ path, body }) => [path.split("/").at(-2), body]);
const names = (field: HTMLElement) =>
  within(field)
    .getAllByRole("option")
    .map((each) => each.textContent);

function openList(...items: ExperimentSummary[]) {
  server.on("GET /projects", { items: projects }).on("GET /experiments", { items, next_cursor: null });
  server.on("PUT /experiments/*/project", experiment());
  return openApp(server, "/").user;
}

describe("an experiment of the list", () => {
  it("is moved into a project of which one is a researcher, and back", async () => {
    const user = openList(summary(7));
    await user.click(await screen.findByRole("button", { name: "Actions for Comparison 7" }));
    await user.click(await screen.findByRole("menuitem", { name: "Move to another project" }));
    expect(names(await screen.findByTestId("move-into"))).toEqual(["vision"]);
    await user.click(screen.getByTestId("move"));
    const outcome = await screen.findByTestId("outcome");
    expect(outcome).toHaveTextContent("“Comparison 7” is now in the project vision.");
    expect(screen.queryByRole("dialog")).toBeNull();
    await user.click(within(outcome).getByTestId("undo"));
    await waitFor(() => expect(asked()).toHaveLength(2));
    expect(asked()).toEqual([
      ["exp_7", { project: "vision" }],
      ["exp_7", { project: "default" }],
    ]);
  });

  it("is not moved where there is no other project", async () => {
    const user = openList(summary(7));
    server.on("GET /projects", { items: [project("default"), project("past", { archived: true })] });
    await user.click(await screen.findByRole("button", { name: "Actions for Comparison 7" }));
    await screen.findByRole("menuitem", { name: "Tags and note" });
    expect(screen.queryByRole("menuitem", { name: "Move to another project" })).toBeNull();
  });
});

describe("several experiments", () => {
  it("are moved together, except those that are there; what is refused is said, and not undone", async () => {
    const user = openList(summary(9, { project: "vision" }), summary(8), summary(7));
    server.on("PUT /experiments/*/project", ({ path }) =>
      path.includes("exp_8") ? new Refusal(409, "it is continued") : experiment(),
    );
    for (const number of [9, 8, 7])
      await user.click(await screen.findByRole("checkbox", { name: `Select Comparison ${number}` }));
    await user.click(await screen.findByTestId("selected-move"));
    const field = await screen.findByTestId("move-into");
    expect(names(field)).toEqual(["default", "vision"]);
    await user.selectOptions(field, "vision");
    await user.click(screen.getByTestId("move"));
    const outcome = await screen.findByTestId("outcome");
    expect(outcome).toHaveTextContent("“Comparison 7” is now in the project vision.");
    expect(outcome).toHaveTextContent("#8: it is continued");
    await user.click(within(outcome).getByTestId("undo"));
    await waitFor(() => expect(asked()).toHaveLength(3));
    expect(asked()).toEqual([
      ["exp_8", { project: "vision" }],
      ["exp_7", { project: "vision" }],
      ["exp_7", { project: "default" }],
    ]);
  });
});

describe("the page of an experiment", () => {
  it("moves it, and says why where the server refuses", async () => {
    answerExperiment(server);
    server.on("GET /projects", { items: projects });
    server.on("PUT /experiments/*/project", new Refusal(409, "the project vision is archived"));
    const { user } = await openExperiment(server);
    await user.click(await screen.findByTestId("move-experiment"));
    await user.click(await screen.findByTestId("move"));
    const dialog = within(await screen.findByRole("dialog"));
    expect(await dialog.findByRole("alert")).toHaveTextContent("the project vision is archived");
    server.on("PUT /experiments/*/project", experiment({ project: "vision" }));
    server.on("GET /experiments/*", experiment({ project: "vision" }));
    await user.click(dialog.getByTestId("move"));
    expect(await screen.findByTitle("Project")).toHaveTextContent("vision");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  it("does not offer it to who may not change the experiment", async () => {
    answerExperiment(server);
    server.on("GET /projects", { items: projects }).on("GET /me", me("researcher"));
    server.on("GET /experiments/*", experiment({ user: "ben" }));
    await openExperiment(server);
    expect(await screen.findByTestId("move-experiment")).toBeDisabled();
  });
});
