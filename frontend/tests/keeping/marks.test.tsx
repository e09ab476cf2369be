import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { openApp } from "../support/app";
import { experiment, summary } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const BEFORE = experiment({ tags: ["paper", "old"], note: "as it was", revision: 4 });

async function openEditor() {
  server.on("GET /experiments", { items: [summary(7)], next_cursor: null }).on("GET /experiments/*", BEFORE);
  const { user } = openApp(server, "/");
  await user.click(await screen.findByRole("button", { name: "Actions for Comparison 7" }));
  await user.click(await screen.findByRole("menuitem", { name: "Tags and note" }));
  const dialog = within(await screen.findByRole("dialog"));
  await dialog.findByLabelText("Note");
  return { user, dialog };
}

describe("tags and note", () => {
  it("send only what has changed, a note with the revision that was read", async () => {
    server.on("PATCH /experiments/*", BEFORE);
    const { user, dialog } = await openEditor();
    await user.type(dialog.getByLabelText("Tags"), "new{Enter}");
    await user.type(dialog.getByLabelText("Note"), " and more");
    await user.click(dialog.getByTestId("save-marks"));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    const [asked] = server.askedFor("PATCH /experiments/*");
    expect(asked?.body).toEqual({ note: "as it was and more", add_tags: ["new"], remove_tags: [] });
    expect(asked?.headers["if-match"]).toBe('"4"');
  });

  it("keep what was typed where somebody else was faster", async () => {
    server.on("PATCH /experiments/*", new Refusal(412, "its revision is 5"));
    const { user, dialog } = await openEditor();
    await user.type(dialog.getByLabelText("Note"), "!");
    await user.click(dialog.getByTestId("save-marks"));
    expect(await dialog.findByRole("alert")).toHaveTextContent("Someone else has changed this experiment");
    expect(dialog.getByLabelText("Note")).toHaveValue("as it was!");
  });
});

describe("the window of tags and note", () => {
  const saved = () => server.askedFor("PATCH /experiments/*");

  it("takes a tag away by keyboard, without the note or its revision", async () => {
    server.on("PATCH /experiments/*", BEFORE);
    const { user, dialog } = await openEditor();
    await user.type(dialog.getByLabelText("Tags"), "{Backspace}");
    await user.click(dialog.getByTestId("save-marks"));
    await waitFor(() => expect(saved()).toHaveLength(1));
    expect(saved()[0]?.body).toEqual({ add_tags: [], remove_tags: ["old"] });
    expect(saved()[0]?.headers["if-match"]).toBeUndefined();
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  it("is closed by Escape until something is typed, which Escape and a click beside it then leave there", async () => {
    const { user, dialog } = await openEditor();
    await user.type(dialog.getByLabelText("Note"), ", with much more");
    await user.keyboard("{Escape}");
    await user.click(document.querySelector(".mantine-Modal-inner") as Element);
    expect(dialog.getByLabelText("Note")).toHaveValue("as it was, with much more");
    await user.click(dialog.getByRole("button", { name: "Close" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(saved()).toEqual([]);
    await user.click(await screen.findByRole("button", { name: "Actions for Comparison 7" }));
    await user.click(await screen.findByRole("menuitem", { name: "Tags and note" }));
    await screen.findByLabelText("Note");
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  it("is left without a change", async () => {
    const { user, dialog } = await openEditor();
    await user.type(dialog.getByLabelText("Note"), " never saved");
    await user.click(dialog.getByRole("button", { name: "Cancel" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(saved()).toEqual([]);
  });

  it("stays open with what was typed where the server refuses a tag", async () => {
    server.on("PATCH /experiments/*", new Refusal(422, "a tag has no blanks at its ends"));
    const { user, dialog } = await openEditor();
    await user.type(dialog.getByLabelText("Tags"), "new{Enter}");
    await user.click(dialog.getByTestId("save-marks"));
    expect(await dialog.findByRole("alert")).toHaveTextContent(
      "The changes could not be saved. a tag has no blanks at its ends",
    );
    expect(dialog.getByText("new")).toBeVisible();
  });

  it("says that the experiment is gone", async () => {
    server
      .on("GET /experiments", { items: [summary(7)], next_cursor: null })
      .on("GET /experiments/*", new Refusal(404, "experiment 7 was deleted"));
    const { user } = openApp(server, "/");
    await user.click(await screen.findByRole("button", { name: "Actions for Comparison 7" }));
    await user.click(await screen.findByRole("menuitem", { name: "Tags and note" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(await dialog.findByRole("alert")).toHaveTextContent("experiment 7 was deleted");
    expect(dialog.queryByTestId("save-marks")).toBeNull();
  });
});

describe("the server's own notes", () => {
  it("stand on every page", async () => {
    const warnings = ["the disk of the database has 1.00 GiB free, less than 2 GiB"];
    server.on("GET /readyz", { ready: true, reasons: [], warnings });
    server.on("GET /experiments", { items: [], next_cursor: null });
    openApp(server, "/");
    expect(await screen.findByTestId("server-note")).toHaveTextContent(
      "The disk of the database has 1.00 GiB free",
    );
  });
});
