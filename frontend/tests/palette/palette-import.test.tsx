import { screen, waitFor } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { answerExperiment } from "../experiment/page";
import { frame, openApp } from "../support/app";
import { experiment, summary } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const option = (name: RegExp) => screen.findByRole("option", { name });

beforeEach(() => {
  answerExperiment(server);
  server.on("GET /experiments", { items: [summary(7)], next_cursor: null });
});

/** The question of the browser for a file: somebody chooses this one, or gives it up. */
function chooses(file: File | undefined) {
  vi.spyOn(HTMLInputElement.prototype, "click").mockImplementation(function (this: HTMLInputElement) {
    Object.defineProperty(this, "files", { value: file ? [file] : [] });
    this.dispatchEvent(new Event(file ? "change" : "cancel"));
  });
}

async function openPalette(address: string) {
  const app = openApp(server, address);
  await screen.findAllByTestId("experiment-item");
  await app.user.click(screen.getByTestId("open-palette"));
  return app;
}

describe("from the palette, an experiment", () => {
  it.each([
    ["/?project=vision", "vision", /fileinto the project vision$/],
    ["/", null, /from a file$/],
  ])("at %s is imported into the project %s", async (at, project, words) => {
    server.on("POST /experiments/import", experiment());
    chooses(new File(["PK"], "digits.zip"));
    const { user, address } = await openPalette(at);
    const entry = await option(/^Import an experiment/);
    expect(entry.textContent).toMatch(words);
    await user.click(entry);
    await waitFor(() => expect(address()).toBe("/experiments/exp_7"));
    const [asked, ...more] = server.askedFor("POST /experiments/import");
    expect(asked?.query.get("project")).toBe(project);
    expect(more).toEqual([]);
  });

  it("is said to be imported until it is there, or why it is not", async () => {
    let refuse = () => {};
    const waits = new Promise<Refusal>((resolve) => {
      refuse = () => resolve(new Refusal(422, "it is no bundle"));
    });
    server.on("POST /experiments/import", waits);
    chooses(new File(["PK"], "digits.zip"));
    const { user } = await openPalette("/");
    await user.click(await option(/^Import an experiment/));
    const note = await screen.findByText("Importing digits.zip …");
    expect(note.closest("[role=status]")).toBeVisible();
    refuse();
    expect(await screen.findByText(/The experiment could not be imported\./)).toBeVisible();
    expect(screen.getByText(/it is no bundle/)).toBeVisible();
    expect(screen.queryByText(/^Importing/)).toBeNull();
  });

  it("is not imported where no file was chosen, and nothing is read again", async () => {
    chooses(undefined);
    const { user, address } = await openPalette("/");
    const entry = await option(/^Import an experiment/);
    await screen.findByRole("option", { name: /^Comparison 7/ });
    await waitFor(() => expect(screen.getByTestId("palette")).not.toHaveTextContent("Searching"));
    const before = server.askedFor("GET /experiments").length;
    await user.click(entry);
    await waitFor(() => expect(screen.queryByTestId("palette")).toBeNull());
    await frame();
    expect(server.askedFor("GET /experiments")).toHaveLength(before);
    expect(address()).toBe("/");
  });
});
