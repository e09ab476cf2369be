/** What must not be done for every chart, nor at every movement of the pointer. */
import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { EventSource } from "eventsource";
import { Profiler } from "react";
import { expect, it, onTestFinished, vi } from "vitest";
import { makeQueryClient } from "@/app/query-client";
import { bandsOptions } from "@/features/experiment/asked";
import { MetricChart } from "@/features/experiment/metric-chart";
import type { BandAnswer } from "@/lib/client/types.gen";
import { EventStream } from "@/lib/events/event-stream";
import { frame, show } from "../support/app";
import { band, experiment } from "../support/fixtures/experiment";
import { outOfView } from "../support/near";
import { apiServer } from "../support/server";
import { answerExperiment, bands, openExperiment } from "./page";

const server = apiServer();

it("the pointer on a chart changes the table of its values, and renders nothing", async () => {
  let renders = 0;
  show(
    <Profiler id="chart" onRender={() => (renders += 1)}>
      <MetricChart
        metric="validation_accuracy"
        axis="clock"
        bands={[{ band: band("Sync EASGD"), seeds: [] }]}
        experiment={experiment()}
        group={undefined}
        hidden={new Set()}
        toggle={() => undefined}
        close={false}
        log={false}
        smooth={undefined}
        show={undefined}
        crossings={[]}
      />
    </Profiler>,
  );
  await frame();
  const before = renders;
  expect(before).toBeGreaterThan(0);
  const over = screen.getByRole("img").querySelector(".u-over") as HTMLElement;
  const head = () => within(screen.getByTestId("legend")).getAllByRole("columnheader")[0]?.textContent;
  fireEvent.mouseEnter(over, { clientX: 10, clientY: 20 });
  for (const clientX of [10, 400]) {
    const told = head();
    fireEvent.mouseMove(over, { clientX, clientY: 20 });
    await waitFor(() => expect(head()).not.toBe(told));
  }
  fireEvent.mouseLeave(over);
  await waitFor(() => expect(head()).toBe("Last values"));
  expect(renders).toBe(before);
});

it("what a chart out of view shows is not asked for before it comes into view", async () => {
  const see = outOfView();
  answerExperiment(server);
  server.on("GET /experiments/*/bands", ({ query }) => {
    const metrics = query.getAll("metric");
    const all = [...bands().bands, band("Sync EASGD", { metric: "train_loss" })];
    return bands({ bands: all.filter(({ metric }) => metrics.includes(metric)) });
  });
  await openExperiment(server, "/experiments/exp_7?more=train_loss");
  const asked = () => server.askedFor("GET /experiments/*/bands").map(({ query }) => query.getAll("metric"));
  await waitFor(() => expect(asked()).toHaveLength(1));
  const chart = await screen.findByTestId("chart-train_loss");
  await frame();
  expect(asked()).not.toContainEqual(["train_loss"]);
  see(chart, true);
  await waitFor(() => expect(asked()).toContainEqual(["train_loss"]));
});

it("a chart out of view stays as it was until it comes near, also where a variant is switched off", async () => {
  const see = outOfView();
  answerExperiment(server);
  server.on("GET /experiments/*/bands", ({ query }) => {
    const metrics = query.getAll("metric");
    const all = [...bands().bands, band("Sync EASGD", { metric: "train_loss" })];
    return bands({ bands: all.filter(({ metric }) => metrics.includes(metric)) });
  });
  const { user } = await openExperiment(server, "/experiments/exp_7?more=train_loss");
  const chart = await screen.findByTestId("chart-train_loss");
  const place = chart.parentElement?.parentElement as HTMLElement;
  see(place, true);
  see(chart, true);
  const item = (table: string) =>
    within(screen.getByRole("toolbar", { name: new RegExp(`^Variants of ${table}`) })).getByRole("button", {
      name: "Sync EASGD",
    });
  await waitFor(() => expect(item("Training loss")).toHaveAttribute("aria-pressed", "true"));
  see(place, false);
  see(chart, false);
  await user.click(item("Validation accuracy"));
  await waitFor(() => expect(item("Validation accuracy")).toHaveAttribute("aria-pressed", "false"));
  expect(item("Training loss")).toHaveAttribute("aria-pressed", "true");
  see(place, true);
  await waitFor(() => expect(item("Training loss")).toHaveAttribute("aria-pressed", "false"));
});

/** What answers the bands of one metric more, each time by what `told` says. */
function answerLoss(told: () => BandAnswer | Promise<BandAnswer>): void {
  answerExperiment(server);
  server.on("GET /experiments/*/bands", ({ query }) =>
    query.getAll("metric").includes("train_loss") ? told() : bands(),
  );
}
const loss = () => bands({ bands: [band("Sync EASGD", { metric: "train_loss" })] });
const asked = (metric: string) =>
  server.askedFor("GET /experiments/*/bands").filter(({ query }) => query.getAll("metric").includes(metric))
    .length;

it("a chart out of view is a place with its title until it comes near", async () => {
  const see = outOfView();
  answerLoss(loss);
  await openExperiment(server, "/experiments/exp_7?more=train_loss");
  const place = await screen.findByTestId("chart-train_loss");
  expect(place).toHaveTextContent(/^Training loss$/);
  expect(screen.queryByRole("combobox", { name: "Metric" })).toBeNull();
  see(place, true);
  await waitFor(() => expect(screen.getByTestId("chart-train_loss")).not.toHaveAttribute("data-points", "0"));
  expect(screen.getByRole("combobox", { name: "Metric" })).toHaveValue("train_loss");
  expect(screen.getByRole("toolbar", { name: "Variants of Training loss" })).toBeVisible();
});

it("a chart that comes near again asks for what has changed meanwhile, and for nothing else", async () => {
  const see = outOfView();
  answerLoss(loss);
  await openExperiment(server, "/experiments/exp_7?more=train_loss");
  const parent = (await screen.findByTestId("chart-train_loss")).parentElement as HTMLElement;
  see(parent, true);
  await waitFor(() => expect(screen.getByTestId("chart-train_loss")).not.toHaveAttribute("data-points", "0"));
  const look = async () => {
    see(parent, false);
    await frame();
    see(parent, true);
    await frame();
  };
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 }); // far older than what is asked for anew elsewhere
  onTestFinished(() => void vi.useRealTimers());
  await look();
  expect(asked("train_loss")).toBe(1);
  see(parent, false);
  const before = asked("validation_accuracy");
  server.send("points", { id: "run_21", experiment_id: "exp_7", accuracy: 0.99, loss: 0.1 }, 7);
  await waitFor(() => expect(asked("validation_accuracy")).toBeGreaterThan(before));
  expect(asked("train_loss")).toBe(1);
  see(parent, true);
  await waitFor(() => expect(asked("train_loss")).toBe(2));
});

it("a chart that was shown before is read anew when its page is opened again", async () => {
  const see = outOfView();
  answerLoss(loss);
  const queries = makeQueryClient();
  const { queryKey } = bandsOptions("exp_7", "clock", ["train_loss"]);
  queries.setQueryData(queryKey, loss(), { updatedAt: Date.now() - 60_000 });
  const stream = new EventStream(`${server.url}/api/v1/events`, (url) => new EventSource(url));
  await openExperiment(server, "/experiments/exp_7?more=train_loss", { queries, stream });
  expect(asked("train_loss")).toBe(0);
  see((await screen.findByTestId("chart-train_loss")).parentElement as HTMLElement, true);
  await waitFor(() => expect(asked("train_loss")).toBe(1));
});

it("the seeds behind a curve are asked for once no curve is on its way", async () => {
  let answer: (bands: BandAnswer) => void = () => undefined;
  const held = new Promise<BandAnswer>((resolve) => {
    answer = resolve;
  });
  answerLoss(() => held);
  await openExperiment(server, "/experiments/exp_7?more=train_loss");
  await frame();
  expect(asked("train_loss")).toBe(1);
  expect(server.askedFor("POST /series")).toEqual([]);
  answer(loss());
  await waitFor(() => expect(server.askedFor("POST /series").length).toBeGreaterThan(0));
});

/** Three charts that are drawn, whether each is zoomed, and what lets a frame pass: none passes by itself. */
async function openCharts() {
  answerLoss(loss);
  const app = await openExperiment(server, "/experiments/exp_7?more=train_loss");
  const charts = () => [...document.querySelectorAll<HTMLElement>("[data-zoomed]")];
  await waitFor(() => expect(document.querySelectorAll("[data-zoomed] .u-over")).toHaveLength(3));
  await app.idle();
  for (let i = 0; i < 6; i += 1) await frame(); // what has been read is drawn by one chart in each
  let frames: FrameRequestCallback[] = [];
  const { requestAnimationFrame: request, cancelAnimationFrame: cancel } = globalThis;
  onTestFinished(() => {
    vi.stubGlobal("requestAnimationFrame", request);
    vi.stubGlobal("cancelAnimationFrame", cancel);
  });
  vi.stubGlobal("requestAnimationFrame", (call: FrameRequestCallback) => frames.push(call));
  vi.stubGlobal("cancelAnimationFrame", (handle: number) => {
    frames[handle - 1] = () => undefined;
  });
  const pass = () =>
    act(async () => {
      const due = frames;
      frames = [];
      for (const call of due) call(0);
    });
  const zoomed = () => charts().map(({ dataset }) => dataset.zoomed === "true");
  const kept = async (frames = 2) => {
    for (let i = 0; i < frames; i += 1) await pass(); // it is drawn, then in the address
    await waitFor(() => expect(app.address()).toMatch(/[?&]x=/));
  };
  return { ...app, charts, zoomed, pass, kept };
}

it("a zoom is shown at once where it was made, and by the other charts one in each frame", async () => {
  const { address, charts, zoomed, pass, kept } = await openCharts();
  expect(zoomed()).toEqual([false, false, false]);
  fireEvent.keyDown(charts()[1] as HTMLElement, { key: "+" });
  expect(zoomed()).toEqual([false, true, false]);
  await pass(); // in which it is drawn: the address, which has as much done, has a frame of its own
  expect(address()).not.toMatch(/[?&]x=/);
  await kept(1);
  expect(zoomed()).toEqual([false, true, false]);
  const seen: boolean[][] = [];
  for (let i = 0; i < 8 && zoomed().includes(false); i += 1) {
    await pass();
    seen.push(zoomed());
  }
  expect(seen).toContainEqual([true, true, false]);
  expect(seen.at(-1)).toEqual([true, true, true]);
});

it("a zoom that is left by Back before all charts have it is left by the one on which it was made, too", async () => {
  const { address, charts, zoomed, pass, kept, router } = await openCharts();
  fireEvent.keyDown(charts()[1] as HTMLElement, { key: "+" });
  await kept();
  act(() => router.history.back());
  await waitFor(() => expect(address()).not.toMatch(/[?&]x=/));
  for (let i = 0; i < 8; i += 1) await pass();
  expect(zoomed()).toEqual([false, false, false]);
});

it("what is done on a chart before it has followed a zoom of another one is what it shows", async () => {
  const { address, charts, zoomed, pass, kept } = await openCharts();
  fireEvent.keyDown(charts()[1] as HTMLElement, { key: "+" });
  await kept();
  fireEvent.doubleClick(charts()[0]?.querySelector(".u-over") as HTMLElement); // shows all
  for (let i = 0; i < 8; i += 1) {
    await pass();
    expect(zoomed()[0]).toBe(false);
  }
  await waitFor(() => expect(address()).not.toMatch(/[?&]x=/));
  for (let i = 0; i < 8; i += 1) await pass();
  expect(zoomed()).toEqual([false, false, false]);
});
