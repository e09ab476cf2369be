import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { ExperimentView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { comparison, experiment } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();

function open(view: ExperimentView) {
  server
    .on("GET /experiments/*", view)
    .on("GET /experiments/*/comparison", comparison())
    .on("GET /experiments/*/bands", {
      axis: "clock",
      unit: "s",
      position: 0,
      version: "",
      since: null,
      bands: [],
    })
    .on("GET /runs", { items: [], next_cursor: null });
  return openApp(server, "/experiments/exp_7");
}

describe("the page of an experiment", () => {
  it("shows tags and note, and stars", async () => {
    const { user } = open(experiment({ tags: ["paper"], note: "because **rho** matters" }));
    const marks = within(await screen.findByTestId("marks"));
    expect(marks.getByRole("link", { name: "paper" })).toBeVisible();
    expect(screen.getByTestId("note").querySelector("strong")).toHaveTextContent("rho");
    server.on("PATCH /experiments/*", experiment({ starred: true }));
    server.on("GET /experiments/*", experiment({ starred: true }));
    await user.click(marks.getByTestId("star"));
    await waitFor(() => expect(marks.getByTestId("star")).toHaveAttribute("aria-pressed", "true"));
    const asked = () => server.askedFor("PATCH /experiments/*").map(({ body }) => body);
    await waitFor(() => expect(asked()).toEqual([{ starred: true }])); // the star does not wait for it
  });

  it("offers to add a first note", async () => {
    const { user } = open(experiment());
    await user.click(await screen.findByRole("button", { name: "Add tags or a note" }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.type(await dialog.findByLabelText("Note"), "first");
    server.on("PATCH /experiments/*", experiment({ note: "first", revision: 1 }));
    server.on("GET /experiments/*", experiment({ note: "first", revision: 1 }));
    await user.click(dialog.getByTestId("save-marks"));
    expect(await screen.findByTestId("note")).toHaveTextContent("first");
    expect(screen.queryByRole("dialog")).toBeNull();
  });
});

describe("the server's own notes", () => {
  it("say what does not work, where it says so itself", async () => {
    server.on("GET /readyz", new Refusal(503, "no words of its own"));
    server.on("GET /experiments", { items: [], next_cursor: null });
    openApp(server, "/");
    await screen.findByTestId("empty");
    await waitFor(() => expect(server.askedFor("GET /readyz")).toHaveLength(1));
    expect(screen.queryByTestId("server-note")).toBeNull();
  });
});
