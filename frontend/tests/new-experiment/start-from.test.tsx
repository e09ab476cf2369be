import { screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { EXAMPLES } from "@/features/new-experiment/examples";
import { cluster } from "../support/fixtures/catalogue";
import { apiServer } from "../support/server";
import { openForm, refill, shownDocument } from "./form";

const server = apiServer();
type User = Awaited<ReturnType<typeof openForm>>["user"];
const name = () => screen.getByLabelText(/Name of the experiment/);

async function choose(user: User, label: RegExp) {
  await user.click(screen.getByRole("button", { name: "Start from" }));
  await user.click(await screen.findByRole("menuitem", { name: label }));
}

describe("examples to start from", () => {
  it("say what they compare, and fill in the form", async () => {
    const { user } = await openForm(server);
    await user.click(screen.getByRole("button", { name: "Start from" }));
    const items = await screen.findAllByRole("menuitem");
    expect(items.map((item) => item.textContent)).toEqual(
      EXAMPLES.map(({ label, about }) => `${label}${about}`),
    );
    await user.click(screen.getByRole("menuitem", { name: /^Periods of Local SGD/ }));
    expect(name()).toHaveValue("How often must Local SGD average?");
    expect(await shownDocument(user)).toEqual(
      EXAMPLES.find(({ key }) => key === "local-sgd-periods")?.document,
    );
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  it("give way to one another without a question while nobody has changed them", async () => {
    const { user } = await openForm(server);
    await choose(user, /^Tuned comparison/);
    await choose(user, /^Unequal workers/);
    expect(name()).toHaveValue("Unequal workers, two fast and two slow");
    expect(screen.queryByTestId("draft-note")).toBeNull();
  });

  it("are computed on a cluster of this server", async () => {
    const { user } = await openForm(server, "/new", [cluster("rack")]);
    await choose(user, /^Tuned comparison/);
    expect((await shownDocument(user)).clusters).toMatchObject([
      { name: "simulated-1gbe", computed_on: "rack" },
    ]);
  });
});

describe("a draft", () => {
  it("is replaced by an example only after a question, and comes back", async () => {
    const { user } = await openForm(server);
    await refill(user, name(), "Half done");
    await choose(user, /^The paper's comparison/);
    expect(await screen.findByRole("dialog", { name: "Replace your draft?" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Keep my draft" }));
    expect(name()).toHaveValue("Half done");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    await choose(user, /^The paper's comparison/);
    await user.click(await screen.findByRole("button", { name: "Replace it" }));
    expect(name()).toHaveValue("Who reaches 97 % first on the digits?");
    expect(screen.getByTestId("draft-note")).toHaveTextContent(
      "“The paper's comparison” has replaced your draft.",
    );
    await choose(user, /^Tuned comparison/); // nobody has changed the example
    expect(screen.getByTestId("draft-note")).toHaveTextContent("“Tuned comparison” has replaced your draft.");
    await user.click(screen.getByRole("button", { name: "Restore draft" }));
    expect(name()).toHaveValue("Half done");
  });

  it("that was left here earlier is asked for, too, and none after starting afresh", async () => {
    server.on("GET /experiments", { items: [], next_cursor: null });
    const { user } = await openForm(server);
    await refill(user, name(), "Half done");
    await user.click(screen.getByRole("link", { name: "Hooke: experiments" }));
    await screen.findByTestId("empty");
    await user.click(screen.getByRole("link", { name: "New" }));
    await screen.findByTestId("form");
    await choose(user, /^Tuned comparison/);
    await user.click(await screen.findByRole("button", { name: "Keep my draft" }));
    await user.click(screen.getByRole("button", { name: "Start over" }));
    await choose(user, /^Tuned comparison/);
    expect(name()).toHaveValue("Local steps, each method at its best");
  });

  it("that cannot be read as JSON yet is asked for, too", async () => {
    const { user } = await openForm(server);
    await user.click(screen.getByRole("tab", { name: "JSON" }));
    await refill(user, screen.getByLabelText("Specification as JSON"), "{ no");
    await choose(user, /^Tuned comparison/);
    expect(await screen.findByRole("dialog", { name: "Replace your draft?" })).toBeVisible();
  });
});
