import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { arriving } from "@/features/run/use-timeline";
import type { RunView, TimelineView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { drawnIn } from "../support/canvas";
import { experiment } from "../support/fixtures/experiment";
import { run } from "../support/fixtures/run";
import { merged, system, timeline } from "../support/fixtures/timeline";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const ended: Partial<RunView> = {
  state: "succeeded",
  finished_at: "2026-03-01T10:10:00Z",
  spec: { algorithm: "sync-easgd", trace: true },
};

beforeEach(() => {
  server
    .on("GET /experiments/*", experiment())
    .on("POST /series", { axis: "clock", unit: "s", series: [] })
    .on("GET /runs/*/logs", { lines: [], more: false, next_after: 0 });
});

async function open(answer: TimelineView | Refusal, changes: Partial<RunView> = ended, query = "") {
  server.on("GET /runs/*", run(changes)).on("GET /runs/*/timeline", answer);
  const app = openApp(server, `/runs/run_21${query}`);
  await screen.findByTestId("timeline");
  return app;
}

const drawing = () => screen.findByTestId("timeline-drawing");
const part = () => within(screen.getByTestId("timeline"));
const asked = () => server.askedFor("GET /runs/*/timeline").map((one) => Object.fromEntries(one.query));

describe("a run with a timeline", () => {
  it("draws every rank, names the straggler, and says what is in view", async () => {
    await open(timeline());
    const marks = drawnIn(await drawing());
    const texts = marks.flatMap((mark) => (mark.kind === "text" ? mark.text : []));
    expect(texts).toEqual(expect.arrayContaining(["rank 0", "rank 1", "1 s"]));
    expect(part().getByTestId("straggler")).toHaveTextContent("Rank 1 computed longest in 41 of 60 steps");
    expect(part().getByTestId("timeline-extent")).toHaveTextContent("In view: the whole 2 s (measured)");
    expect(part().getByRole("list", { name: "Phases" })).toBeVisible();
    expect(asked()).toEqual([{ bins: "900" }]);
  });

  it("has the window as a table", async () => {
    await open(merged());
    await drawing();
    const rows = part().getAllByRole("row").slice(1);
    expect(rows.map((row) => row.textContent)).toEqual([
      "rank 00.0%40.0%60.0%0.0%0.0%0.0%",
      "rank 10.0%80.0%20.0%0.0%0.0%0.0%",
    ]);
  });

  it("labels what is simulated and lists what was not recorded", async () => {
    await open(timeline({ simulated: true, remarks: ["rank 1 has no trace"] }));
    await drawing();
    expect(part().getByText("simulated")).toBeVisible();
    expect(part().getByText("rank 1 has no trace")).toBeVisible();
  });
});

describe("an imported run", () => {
  it("says where its timeline is, and waits for none", async () => {
    const now = { ...ended, host: "~local", finished_at: new Date().toISOString() };
    await open(timeline({ ranks: [], complete: false }), now);
    expect(await part().findByText(/imported without its timeline/)).toBeVisible();
  });
});

describe("the window", () => {
  it("is asked for as the URL has it", async () => {
    await open(timeline({ start: 0.5, stop: 1 }), ended, "?t=0.5_1");
    await drawing();
    expect(asked()).toEqual([{ start: "0.5", stop: "1", bins: "900" }]);
  });

  it("moves by keys and buttons, and the URL follows once it rests", async () => {
    const { user, address } = await open(timeline());
    (await drawing()).focus();
    await user.keyboard("+");
    await waitFor(() => expect(address()).toContain("t=0.5_1.5"));
    await user.click(part().getByRole("button", { name: "Zoom in" }));
    await waitFor(() => expect(address()).toContain("t=0.75_1.25"));
    await user.click(part().getByRole("button", { name: "Whole run" }));
    await waitFor(() => expect(address()).not.toContain("t="));
  });

  it("zooms by the wheel only where the page does not scroll by it", async () => {
    const { address } = await open(timeline());
    const element = await drawing();
    expect(fireEvent.wheel(element, { deltaY: -100, clientX: 300 })).toBe(true);
    expect(fireEvent.wheel(element, { deltaY: -100, clientX: 300, ctrlKey: true })).toBe(false);
    await waitFor(() => expect(address()).toContain("t="));
  });

  it("is marked by Shift and drag", async () => {
    const { address } = await open(timeline());
    const element = await drawing();
    // 800 px wide, 10 px from the left of the page: 694 px of time from 96 px on
    fireEvent.pointerDown(element, { button: 0, clientX: 10 + 96, shiftKey: true });
    fireEvent.pointerMove(element, { clientX: 10 + 96 + 347 });
    fireEvent.pointerUp(element, { clientX: 10 + 96 + 347 });
    await waitFor(() => expect(address()).toContain("t=0_1"));
  });

  it("is that of a step where one is chosen", async () => {
    const { user, address } = await open(timeline({ steps: 60 }));
    await drawing();
    await user.type(part().getByLabelText("Step"), "7");
    await waitFor(() => expect(address()).toContain("step=7"));
    await waitFor(() => expect(asked()).toContainEqual({ step: "7", bins: "900" }));
  });

  it("shows what is under the pointer", async () => {
    await open(timeline());
    const element = await drawing();
    fireEvent.pointerMove(element, { clientX: 10 + 96 + 200, clientY: 10 + 30 });
    expect(part().getByTestId("timeline-tip")).toHaveTextContent(
      "rank 0 · communicate (all-reduce)600 ms · step 1",
    );
    fireEvent.pointerLeave(element);
    await waitFor(() => expect(part().queryByTestId("timeline-tip")).toBeNull());
  });
});

describe("without a timeline", () => {
  it.each<[string, Partial<RunView>, RegExp]>([
    ["was not asked for", { ...ended, spec: {} }, /recorded no timeline/],
    ["is still being recorded", { spec: { trace: true } }, /will arrive when the run has ended/],
    ["never came", ended, /No timeline has arrived/],
    ["is on its way", { ...ended, finished_at: new Date().toISOString() }, /is being delivered/],
  ])("says so where it %s", async (_, changes, words) => {
    await open(timeline({ ranks: [], complete: false }), changes);
    expect(await screen.findByText(words)).toBeVisible();
  });

  it("says that it could not be loaded", async () => {
    await open(new Refusal(400, "no such step"));
    expect(await screen.findByText("The timeline could not be loaded.")).toBeVisible();
  });

  it.each([
    [true, "succeeded", 0, false],
    [false, "running", 0, false],
    [false, "succeeded", 60, true],
    [false, "succeeded", 600, false],
  ] as const)(
    "complete: %s, %s, after %i s: may it still arrive? %s",
    (complete, state, seconds, expected) => {
      const finished_at = state === "running" ? null : "2026-03-01T10:10:00Z";
      const now = Date.parse("2026-03-01T10:10:00Z") + seconds * 1000;
      expect(arriving(run({ state, finished_at }), complete, now)).toBe(expected);
    },
  );
});

describe("the system", () => {
  it("has charts of what was sampled, and no others", async () => {
    server.on("GET /runs/*/system", system());
    await open(timeline());
    const section = within(await screen.findByTestId("system"));
    for (const name of ["processors-in-use", "resident-memory", "network-of-the-host"])
      expect(section.getByTestId(`system-${name}`)).toBeVisible();
    expect(section.queryByTestId("system-power-of-the-processors")).toBeNull();
    expect(section.getByText(/Of the ranks on node1/)).toBeVisible();
    const curves = section.getByRole("list", { name: "Curves of Network of the host" });
    expect(curves).toHaveTextContent("receivedsent");
    const ticks = () =>
      drawnIn(section.getByTestId("system-processors-in-use")).flatMap((mark) =>
        mark.kind === "text" ? mark.text : [],
      );
    // a frame draws one chart
    await waitFor(() => expect(ticks()).toEqual(expect.arrayContaining(["0.5", "0.75", "1"])));
  });

  it("is left out where nothing was sampled", async () => {
    await open(timeline());
    await drawing();
    expect(screen.queryByTestId("system")).toBeNull();
  });
});
