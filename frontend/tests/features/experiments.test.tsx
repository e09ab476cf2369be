import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { summary } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const page = (items: ExperimentSummary[], next: string | null = null) => ({ items, next_cursor: next });

async function firstItem() {
  return within(await screen.findByTestId("experiment-item"));
}

describe("one line of the list", () => {
  it("says what is compared, where, since when, and leads to it", async () => {
    server.on("GET /experiments", page([summary(7, { clusters: ["local", "10gbe"] })]));
    openApp(server, "/");
    const item = await firstItem();
    expect(item.getByRole("link", { name: "Comparison 7" })).toHaveAttribute("href", "/experiments/exp_7");
    for (const text of ["#7", "digits-mlp", "local, 10gbe", "Hogwild EASGD", "2 min ago"])
      expect(item.getByText(text)).toBeVisible();
    expect(document.title).toBe("Experiments · Hooke");
  });

  it.each<[string, Partial<ExperimentSummary>, string, string, string]>([
    ["queued", { runs: { queued: 9 } }, "waiting", "0 / 9 runs", "baseline Original EASGD"],
    ["running", {}, "running", "4 / 9 runs", "baseline Original EASGD"],
    [
      "succeeded",
      { runs: { succeeded: 9 } },
      "finished",
      "9 / 9 runs",
      "verdict ready, against Original EASGD",
    ],
    [
      "cancelled",
      { runs: { succeeded: 1, cancelled: 8 } },
      "cancelled",
      "9 / 9 runs",
      "cancelled before its verdict",
    ],
    [
      "failed",
      { runs: { succeeded: 6, failed_user: 1, failed_infra: 2 } },
      "failed",
      "9 / 9 runs",
      "3 runs failed",
    ],
    ["running", { runs: { failed_user: 1, running: 1 } }, "running", "1 / 2 runs", "1 run failed"],
    [
      "failed",
      { runs: { failed_user: 1 }, headlines: ["No target: final figures on local"] },
      "failed",
      "1 / 1 runs",
      "1 run failed",
    ],
    [
      "failed",
      { runs: { timed_out: 2 }, headlines: ["No target: final figures on local"] },
      "failed",
      "2 / 2 runs",
      "2 runs timed out",
    ],
  ])("counts the runs of one that is %s: %o", async (state, changes, word, count, hint) => {
    server.on("GET /experiments", page([summary(1, { state, ...changes })]));
    openApp(server, "/");
    const item = await firstItem();
    for (const text of [word, count, hint]) expect(item.getByText(text)).toBeVisible();
  });

  it("says nothing of kinds of ends that no run has", async () => {
    const runs = { succeeded: 9, failed_user: 0, failed_infra: 0, timed_out: 0 };
    server.on("GET /experiments", page([summary(1, { state: "succeeded", runs, headlines: ["No target"] })]));
    openApp(server, "/");
    const facts = (await firstItem()).getByText("#1").parentElement;
    expect([...(facts?.childNodes ?? [])].filter(({ nodeType }) => nodeType === Node.TEXT_NODE)).toEqual([]);
  });

  it("draws a bar of the runs, in shares, finished ones first", async () => {
    server.on("GET /experiments", page([summary(1)]));
    openApp(server, "/");
    const bar = (await firstItem()).getByRole("img");
    expect(bar).toHaveAccessibleName("4 of 9 runs ended: 4 finished, 2 running, 3 waiting");
    expect([...bar.children].map((part) => (part as HTMLElement).style.flexGrow)).toEqual(["4", "2", "3"]);
  });
});

describe("the list", () => {
  it("fetches the next page after the last, and offers it only while there is one", async () => {
    server.on("GET /experiments", ({ query }) =>
      query.get("cursor") === "older" ? page([summary(1)]) : page([summary(3), summary(2)], "older"),
    );
    const { user } = openApp(server, "/");
    await user.click(await screen.findByRole("button", { name: "Load more" }));
    await screen.findByText("Comparison 1");
    expect(screen.getAllByTestId("experiment-item").map((item) => item.dataset.id)).toEqual([
      "exp_3",
      "exp_2",
      "exp_1",
    ]);
    expect(screen.queryByRole("button", { name: "Load more" })).toBeNull();
  });

  it("offers the example, or an empty form, where there is nothing yet", async () => {
    server.on("GET /experiments", page([]));
    openApp(server, "/");
    expect(await screen.findByRole("heading", { name: "No experiments yet" })).toBeVisible();
    expect(screen.getByRole("link", { name: "Start with the example" })).toHaveAttribute(
      "href",
      "/new?example=true",
    );
    expect(screen.getByRole("link", { name: "Define your own" })).toHaveAttribute("href", "/new");
  });

  it("shows its outline until the first answer", async () => {
    let answer: (value: ReturnType<typeof page>) => void = () => undefined;
    server.on("GET /experiments", new Promise((resolve) => (answer = resolve)));
    openApp(server, "/");
    expect(await screen.findByRole("list", { name: "Loading experiments" })).toHaveAttribute("aria-busy");
    answer(page([summary(1)]));
    expect(await screen.findByText("Comparison 1")).toBeVisible();
    expect(screen.queryByRole("list", { name: "Loading experiments" })).toBeNull();
  });

  it("asks again after a fault that may pass, then says what happened and tries again when told", async () => {
    server.on("GET /experiments", new Refusal(503, "The database does not answer."));
    const { user } = openApp(server, "/");
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("The experiments could not be loaded. The database does not answer.");
    expect(server.askedFor("GET /experiments")).toHaveLength(4);
    server.on("GET /experiments", page([summary(1)]));
    await user.click(within(alert).getByRole("button", { name: "Try again" }));
    expect(await screen.findByText("Comparison 1")).toBeVisible();
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("follows the stream: a run that ends moves the count without a click", async () => {
    server.on("GET /experiments", page([summary(7, { runs: { running: 1 } })]));
    const { live } = openApp(server, "/");
    expect(await screen.findByText("0 / 1 runs")).toBeVisible();
    await live();
    server.on("GET /experiments", page([summary(7, { state: "succeeded", runs: { succeeded: 1 } })]));
    server.send("run", { id: "run_1", experiment_id: "exp_7", state: "succeeded", attempt: 1 }, 5);
    expect(await screen.findByText("1 / 1 runs")).toBeVisible();
  });
});
