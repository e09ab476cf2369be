import { screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { answerExperiment } from "../experiment/page";
import { openApp } from "../support/app";
import { experiment, summary } from "../support/fixtures/experiment";
import { me } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const FILE = new File(["PK"], "exp_1.hooke.zip", { type: "application/zip" });
const field = () => document.querySelector<HTMLInputElement>('input[type="file"]');

async function choose(...items: ReturnType<typeof summary>[]) {
  server.on("GET /experiments", { items, next_cursor: null });
  const { user, address } = openApp(server, "/");
  await screen.findByTestId("import");
  const input = field();
  if (!input) throw new Error("no field for a file");
  await user.upload(input, FILE);
  return { user, address };
}

describe("importing an experiment", () => {
  it("opens its page when it is stored", async () => {
    answerExperiment(server);
    server.on("POST /experiments/import", experiment());
    const { address } = await choose(summary(1));
    await waitFor(() => expect(address()).toBe("/experiments/exp_7"));
    const [asked] = server.askedFor("POST /experiments/import");
    expect(asked?.headers["content-type"]).toBe("application/octet-stream");
  });

  it("says why a file was refused, also where the list turns out to be empty", async () => {
    const why = "the bundle cannot be imported: it is damaged";
    server.on("POST /experiments/import", new Refusal(422, why));
    await choose();
    expect(await screen.findByRole("alert")).toHaveTextContent(why);
    expect(screen.getByTestId("import")).toBeEnabled();
  });

  it("is not offered to those who may not submit", async () => {
    server.on("GET /me", me("viewer")).on("GET /experiments", { items: [summary(1)], next_cursor: null });
    openApp(server, "/");
    await screen.findByTestId("experiment-item");
    await waitFor(() => expect(screen.queryByTestId("import")).toBeNull());
  });

  it("tells imported experiments of a list from others", async () => {
    const origin = {
      server: "lab",
      experiment: "exp_1",
      number: 3,
      user: "ada",
      hooke: "0.1.0",
      exported_at: "2026-05-01T12:00:00Z",
      imported_at: "2026-06-01T12:00:00Z",
    };
    const items = [summary(2, { origin }), summary(1)];
    server.on("GET /experiments", { items, next_cursor: null });
    openApp(server, "/");
    expect(await screen.findAllByTestId("origin")).toHaveLength(1);
    expect(screen.getByText("imported from lab #3")).toBeVisible();
  });
});
