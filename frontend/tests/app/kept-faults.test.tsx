import { act, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { openApp } from "../support/app";
import { summary } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const LIST = { items: [summary(7)], next_cursor: null };
const down = new Refusal(500, "The disk is full.");
const panel = () => screen.findByTestId("error");

/** The list could not be loaded, and is asked for again; the answer comes when it is told. */
async function askedAgain() {
  server.on("GET /experiments", down);
  const app = openApp(server, "/");
  await panel();
  await waitFor(() => expect(server.listening()).toBe(1));
  let answer: (value: typeof LIST | Refusal) => void = () => undefined;
  server.on("GET /experiments", new Promise((done) => (answer = done)));
  const before = server.askedFor("GET /experiments").length;
  const asked = () =>
    waitFor(() => expect(server.askedFor("GET /experiments").length).toBeGreaterThan(before));
  return { ...app, asked, answer: (value: typeof LIST | Refusal) => answer(value) };
}

describe("what could not be loaded", () => {
  it("is said until there is another answer, however often it is asked for again", async () => {
    const { asked, answer } = await askedAgain();
    server.send("experiment", { id: "exp_7" }, 20);
    await asked();
    expect(await panel()).toHaveTextContent("The experiments could not be loaded. The disk is full.");
    expect(screen.queryByRole("list", { name: "Loading experiments" })).toBeNull();
    answer(LIST);
    expect(await screen.findByTestId("experiment-item")).toBeVisible();
    expect(screen.queryByTestId("error")).toBeNull();
  });

  it("is asked for by a button, which says so", async () => {
    const { user, asked, answer } = await askedAgain();
    await user.click(screen.getByRole("button", { name: "Try again" }));
    await asked();
    expect(screen.getByRole("button", { name: "Try again" })).toHaveAttribute("data-loading");
    answer(LIST);
    expect(await screen.findByTestId("experiment-item")).toBeVisible();
  });

  it("is no news on the page that one comes back to", async () => {
    const { router, answer } = await askedAgain();
    server.on("GET /deleted-experiments", { items: [], next_cursor: null });
    await act(() => router.navigate({ to: "/", search: { show: "deleted" } }));
    await waitFor(() => expect(screen.queryByText(/could not be loaded/)).toBeNull());
    await act(() => router.navigate({ to: "/", search: {} }));
    expect(await screen.findByRole("list", { name: "Loading experiments" })).toBeVisible();
    expect(screen.queryByTestId("error")).toBeNull();
    answer(LIST);
    expect(await screen.findByTestId("experiment-item")).toBeVisible();
  });
});
