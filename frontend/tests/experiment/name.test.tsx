import { fireEvent, screen, waitFor } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { frame } from "../support/app";
import { experiment } from "../support/fixtures/experiment";
import { me } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";
import { answerExperiment, openExperiment } from "./page";

const server = apiServer();
beforeEach(() => answerExperiment(server));
const open = (address?: string) => openExperiment(server, address);
const title = () => screen.getByTestId("experiment-name");
const field = () => screen.findByRole("textbox", { name: "Name of this experiment" });
const asked = () =>
  server.askedFor("PATCH /experiments/*").map(({ body, headers }) => [body, headers["if-match"]]);
/** The server has the name, as it would have after a change. */
const called = (name: string, revision: number) => {
  const view = experiment({ name, revision });
  server.on("PATCH /experiments/*", view).on("GET /experiments/*", view);
};

describe("the name of an experiment", () => {
  it("is changed in place, with keys alone, and the page is called so", async () => {
    const { user } = await open();
    screen.getByRole("button", { name: "Rename this experiment" }).focus();
    await user.keyboard("{Enter}");
    expect(await field()).toHaveFocus();
    expect(await field()).toHaveValue("Digits, three ways");
    called("Digits, four ways", 1);
    await user.keyboard("  Digits, four ways {Enter}"); // the old one was selected
    await waitFor(() => expect(title()).toHaveTextContent(/^Digits, four ways$/));
    expect(asked()).toEqual([[{ name: "Digits, four ways" }, `"${experiment().revision}"`]]);
    expect(document.title).toBe("Digits, four ways · Hooke");
    await waitFor(() => expect(screen.getByTestId("rename")).toHaveFocus());
  });

  it("stays where Escape or the other button is pressed, or nothing was changed", async () => {
    const { user } = await open();
    for (const leave of ["{Escape}", "{Enter}", undefined]) {
      await user.click(screen.getByTestId("rename"));
      await field();
      if (leave !== "{Enter}") await user.keyboard("another");
      if (leave) await user.keyboard(leave);
      else await user.click(screen.getByRole("button", { name: "Keep the name" }));
      await waitFor(() => expect(screen.queryByTestId("new-name")).toBeNull());
    }
    expect(title()).toHaveTextContent(/^Digits, three ways$/);
    expect(asked()).toEqual([]);
  });

  it("is never nothing", async () => {
    const { user } = await open();
    await user.click(screen.getByTestId("rename"));
    await user.clear(await field());
    await user.keyboard("   {Enter}");
    expect(await field()).toHaveAccessibleDescription("It needs a name.");
    expect(screen.getByTestId("save-name")).toBeDisabled();
    expect(asked()).toEqual([]);
  });

  it("of somebody else is replaced only by who has seen it", async () => {
    const { user } = await open();
    await user.click(screen.getByTestId("rename"));
    await user.clear(await field());
    await user.keyboard("mine");
    server.on("GET /experiments/*", experiment({ name: "theirs", revision: 4 }));
    server.on("PATCH /experiments/*", new Refusal(412, "its revision is 4"));
    await user.keyboard("{Enter}");
    await waitFor(async () => expect(await field()).toHaveAccessibleDescription(/“theirs” now\. Save again/));
    called("mine", 5);
    await user.keyboard("{Enter}");
    await waitFor(() => expect(title()).toHaveTextContent(/^mine$/));
    expect(asked().map(([, revision]) => revision)).toEqual([`"${experiment().revision}"`, '"4"']);
  });

  it("is changed at once where only a star was given meanwhile", async () => {
    const { user } = await open();
    await user.click(screen.getByTestId("rename"));
    await user.clear(await field());
    await user.keyboard("mine");
    server.on("GET /experiments/*", experiment({ starred: true, revision: 4 }));
    server.on("PATCH /experiments/*", ({ headers }) =>
      headers["if-match"] === '"4"' ? experiment({ name: "mine", revision: 5 }) : new Refusal(412, "another"),
    );
    await user.keyboard("{Enter}");
    await waitFor(() => expect(asked()).toHaveLength(2));
    await waitFor(() => expect(screen.queryByTestId("new-name")).toBeNull());
  });

  it("stays where Escape is pressed while it is found out what has been changed meanwhile", async () => {
    const { user, idle } = await open();
    await user.click(screen.getByTestId("rename"));
    await user.clear(await field());
    await user.keyboard("mine");
    let tell: (now: ReturnType<typeof experiment>) => void = () => undefined;
    server.on("GET /experiments/*", new Promise((now) => (tell = now)));
    server.on("PATCH /experiments/*", new Refusal(412, "its revision is 4"));
    const before = server.askedFor("GET /experiments/*").length;
    await user.keyboard("{Enter}");
    await waitFor(() => expect(server.askedFor("GET /experiments/*").length).toBe(before + 1));
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByTestId("new-name")).toBeNull());
    tell(experiment({ starred: true, revision: 4 }));
    await idle();
    await frame();
    expect(asked()).toHaveLength(1);
  });

  it.each([
    { answer: experiment({ name: "mine", revision: 1 }), name: "mine" },
    { answer: new Refusal(503, "Later."), name: "Digits, three ways" },
    { answer: new Refusal(412, "its revision is 4"), name: "Digits, three ways" },
  ])(
    "that is on its way cannot be taken back, which is said; Escape counts if it is refused: $name",
    async ({ answer, name }) => {
      const { user } = await open();
      await user.click(screen.getByTestId("rename"));
      await user.clear(await field());
      await user.keyboard("mine");
      let tell: (now: typeof answer) => void = () => undefined;
      server.on("PATCH /experiments/*", new Promise((now) => (tell = now)));
      await user.keyboard("{Enter}");
      await waitFor(() => expect(screen.getByText("Saving …")).toBeInTheDocument());
      expect(screen.getByRole("button", { name: "Keep the name" })).toBeDisabled();
      await user.keyboard("more{Escape}");
      expect(await screen.findByText(/^The new name was sent already/)).toBeVisible();
      expect(await field()).toHaveValue("mine");
      if (!(answer instanceof Refusal)) server.on("GET /experiments/*", answer);
      tell(answer);
      await waitFor(() => expect(screen.queryByTestId("new-name")).toBeNull());
      expect(title().textContent).toBe(name);
      expect(asked()).toHaveLength(1);
    },
  );

  it.each(["Save", "Keep the name"])("hears Escape with the focus on %s", async (button) => {
    const { user } = await open();
    await user.click(screen.getByTestId("rename"));
    await field();
    await user.keyboard("mine");
    screen.getByRole("button", { name: button }).focus();
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByTestId("new-name")).toBeNull());
    expect(asked()).toEqual([]);
  });

  it("hears Escape after Save was clicked, and keeps the name if that is refused", async () => {
    const { user } = await open();
    await user.click(screen.getByTestId("rename"));
    await field();
    await user.keyboard("mine");
    let refuse: (answer: Refusal) => void = () => undefined;
    server.on("PATCH /experiments/*", new Promise((now) => (refuse = now)));
    await user.click(screen.getByTestId("save-name"));
    await waitFor(() => expect(screen.getByText("Saving …")).toBeInTheDocument());
    expect(await field()).toHaveFocus();
    await user.keyboard("{Escape}");
    expect(await screen.findByText(/^The new name was sent already/)).toBeVisible();
    refuse(new Refusal(503, "Later."));
    await waitFor(() => expect(screen.queryByTestId("new-name")).toBeNull());
  });

  it.each([{ isComposing: true }, { keyCode: 229 }])(
    "is not sent by a key of an input method: %o",
    async (composed) => {
      const { user, idle } = await open();
      await user.click(screen.getByTestId("rename"));
      await field();
      await user.keyboard("数字");
      fireEvent.keyDown(await field(), { key: "Enter", ...composed });
      fireEvent.keyDown(await field(), { key: "Escape", ...composed });
      await idle();
      expect(await field()).toHaveValue("数字");
      expect(asked()).toEqual([]);
    },
  );

  it("is sent by the Enter of a keyboard that composes every word: it would break the line", async () => {
    const { user } = await open();
    await user.click(screen.getByTestId("rename"));
    await user.clear(await field());
    await user.keyboard("mine");
    called("mine", 1);
    fireEvent.keyDown(await field(), { key: "Unidentified", keyCode: 229 });
    for (const inputType of ["insertText", "insertLineBreak"]) {
      const input = new InputEvent("beforeinput", { inputType, bubbles: true, cancelable: true });
      fireEvent(await field(), input);
      expect(input.defaultPrevented).toBe(inputType === "insertLineBreak");
    }
    await waitFor(() => expect(title()).toHaveTextContent(/^mine$/));
    expect(asked()).toHaveLength(1);
  });

  it("has no lines", async () => {
    const { user } = await open();
    await user.click(screen.getByTestId("rename"));
    await field();
    await user.paste("two\n lines");
    expect(await field()).toHaveValue("two lines");
  });

  it("says why it could not be changed, and keeps what was typed", async () => {
    const { user } = await open();
    server.on("PATCH /experiments/*", new Refusal(403, "It belongs to ada."));
    await user.click(screen.getByTestId("rename"));
    await user.clear(await field());
    await user.keyboard("mine{Enter}");
    await waitFor(async () =>
      expect(await field()).toHaveAccessibleDescription("It could not be renamed. It belongs to ada."),
    );
    expect(await field()).toHaveValue("mine");
  });

  it("is asked for by the address that the command palette leads to, once", async () => {
    const { user, address } = await open("/experiments/exp_7?scale=log#rename");
    expect(await field()).toHaveFocus();
    await waitFor(() => expect(address()).toBe("/experiments/exp_7?scale=log"));
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByTestId("new-name")).toBeNull());
  });

  it("is that of its user and of operators to change", async () => {
    server.on("GET /me", me("researcher"));
    await open("/experiments/exp_7#rename");
    await waitFor(() => expect(screen.getByTestId("rename")).toBeDisabled());
    expect(screen.queryByTestId("new-name")).toBeNull();
    expect(title()).toHaveTextContent(/^Digits, three ways$/);
  });

  it("that another tab gives is shown", async () => {
    await open();
    server.on("GET /experiments/*", experiment({ name: "theirs", revision: 1 }));
    server.send("experiment", { id: "exp_7" }, 900);
    await waitFor(() => expect(title()).toHaveTextContent(/^theirs$/), { timeout: 4000 });
  });
});
