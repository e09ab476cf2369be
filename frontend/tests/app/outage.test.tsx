import { act, screen, waitFor } from "@testing-library/react";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { withPatience } from "@/lib/api/patience";
import { client } from "@/lib/client/client.gen";
import { CLUSTERS, openForm, refill, settled } from "../new-experiment/form";
import { openApp } from "../support/app";
import { PLAN } from "../support/fixtures/catalogue";
import { summary } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const LIST = { items: [summary(7)], next_cursor: null };
const connection = () => screen.getByTestId("connection");
const state = (expected: string) =>
  waitFor(() => expect(connection()).toHaveAttribute("data-state", expected));

beforeEach(() => void server.letStreams());

function network(online: boolean): void {
  vi.spyOn(navigator, "onLine", "get").mockReturnValue(online);
  act(() => {
    window.dispatchEvent(new Event(online ? "online" : "offline"));
  });
}

describe("the note on the connection", () => {
  it("says that there is no network, since when nothing was heard, and that it is back", async () => {
    server.on("GET /experiments", LIST);
    openApp(server, "/");
    await screen.findByText("Comparison 7");
    await state("live");
    const away = vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("offline"));
    network(false);
    await state("offline");
    expect(connection()).toHaveTextContent(/^offlinelast update (just now|\d+ s ago)$/);
    away.mockRestore();
    network(true);
    await state("live");
    expect(connection()).toHaveTextContent(/^live$/);
  });
});

describe("after an outage", () => {
  it("what could not be loaded is read without a click", async () => {
    server.on("GET /experiments", new Refusal(503, "Restarting."));
    openApp(server, "/");
    expect(await screen.findByRole("alert")).toHaveTextContent(
      "The experiments could not be loaded. Restarting.",
    );
    server.on("GET /experiments", LIST);
    await state("live");
    server.breakStreams();
    expect(await screen.findByText("Comparison 7")).toBeVisible();
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("what was never answered is asked anew", async () => {
    server.on("GET /experiments", LIST);
    openApp(server, "/");
    await screen.findByText("Comparison 7");
    await state("live");
    server.on("GET /experiments", () => new Promise(() => undefined));
    const before = server.askedFor("GET /experiments").length;
    server.send("experiment", { id: "exp_7" }, 5);
    await waitFor(() => expect(server.askedFor("GET /experiments").length).toBeGreaterThan(before));
    server.on("GET /experiments", { items: [summary(8)], next_cursor: null });
    server.breakStreams();
    expect(await screen.findByText("Comparison 8")).toBeVisible();
  });

  it("what hangs on a connection that is dead holds up nothing for long, though events come", async () => {
    server.on("GET /experiments", LIST);
    const { live } = openApp(server, "/");
    await screen.findByText("Comparison 7");
    await live();
    client.setConfig({ fetch: withPatience(300) });
    // else the page would take the stream for broken, and ask for everything anew
    const beats = setInterval(() => server.write("event: heartbeat\ndata: {}\n\n"), 1000);
    onTestFinished(() => {
      clearInterval(beats);
      client.setConfig({ fetch: withPatience() });
    });
    server.on("GET /experiments", () => new Promise(() => undefined));
    const before = server.askedFor("GET /experiments").length;
    server.send("experiment", { id: "exp_7" }, 5);
    await waitFor(() => expect(server.askedFor("GET /experiments").length).toBe(before + 1));
    server.on("GET /experiments", { items: [summary(8)], next_cursor: null });
    expect(await screen.findByText("Comparison 8")).toBeVisible();
    server.on("GET /experiments", { items: [summary(9)], next_cursor: null });
    server.send("experiment", { id: "exp_7" }, 6);
    expect(await screen.findByText("Comparison 9")).toBeVisible();
  });

  it("the form is checked again by itself, and can be started", async () => {
    const { user } = await openForm(server, "/new", CLUSTERS);
    await settled();
    server.on("POST /experiments/dry-run", new Refusal(503, "Restarting."));
    await refill(user, screen.getByLabelText("Batch"), "16");
    expect(await screen.findByTestId("faults")).toHaveTextContent("Not checked yet");
    expect(screen.getByTestId("start")).toBeDisabled();
    server.on("POST /experiments/dry-run", PLAN);
    await waitFor(() => expect(screen.getByTestId("start")).toBeEnabled());
    expect(screen.queryByTestId("faults")).toBeNull();
  });
});
