import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { KEPT } from "@/features/run/log-tail";
import { openApp } from "../support/app";
import { experiment } from "../support/fixtures/experiment";
import { logLine, logOf, run } from "../support/fixtures/run";
import { rowsAre } from "../support/layout";
import { apiServer } from "../support/server";

const server = apiServer();
const log = () => screen.getByRole("log");
const queries = () => server.askedFor("GET /runs/*/logs").map(({ query }) => Object.fromEntries(query));

beforeEach(() => {
  server
    .on("GET /experiments/*", experiment())
    .on("POST /series", { axis: "clock", unit: "s", series: [] })
    .on("GET /runs/*", run({ workers: 2, servers: 1 }));
});

/** As many lines as there are, in pages of at most `size`. */
function written(count: number, size = 1000) {
  server.on("GET /runs/*/logs", ({ query }) => {
    const after = Number(query.get("after"));
    const lines = Array.from({ length: Math.min(size, count - after) }, (_, i) =>
      logLine(after + i + 1, `line ${after + i + 1}`),
    );
    return { lines, more: after + lines.length < count, next_after: after + lines.length };
  });
}

async function open(address = "/runs/run_21") {
  const app = openApp(server, address);
  await screen.findByText("Digits, three ways");
  await app.live();
  return app;
}

describe("the log", () => {
  it("has the rank, the time and the words of each line; what a rank complained of is marked", async () => {
    const answer = logOf(
      logLine(1, "loss 0.5"),
      logLine(2, "warning: slow", { rank: 1, stream: "stderr" }),
      logLine(3, "rank 1 exited", { rank: -1 }),
    );
    server.on("GET /runs/*/logs", answer);
    await open();
    await screen.findByText("loss 0.5");
    const lines = [...log().children].map((line) => line.textContent?.slice("00:00:00".length));
    expect(lines).toEqual(["rank 0loss 0.5", "rank 1warning: slow", "mpirunrank 1 exited"]);
    expect([...log().children].map((line) => line.getAttribute("data-stream"))).toEqual([
      "stdout",
      "stderr",
      "stdout",
    ]);
  });

  it("reads on page by page, and when the stream tells of more asks only for what is new", async () => {
    written(25, 10);
    await open();
    await screen.findByText("line 25");
    expect(queries().map(({ after }) => after)).toEqual(expect.arrayContaining(["0", "10", "20"]));
    const before = queries().length;
    written(27, 10);
    server.send("logs", { id: "run_21", experiment_id: "exp_7" }, 6);
    await screen.findByText("line 27");
    expect(
      queries()
        .slice(before)
        .every(({ after }) => Number(after) >= 25),
    ).toBe(true);
    expect(log().children).toHaveLength(27);
  });

  it("keeps the newest lines, and says how many it let go", async () => {
    rowsAre(19);
    written(KEPT + 1234);
    const { user } = await open();
    expect(await screen.findByText("1,234 earlier lines are not shown")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Draw all 5,000 lines" }));
    expect(log().lastElementChild).toHaveTextContent(`line ${KEPT + 1234}`);
    expect(log().children).toHaveLength(KEPT + 1);
    expect(screen.queryByText("line 1234")).toBeNull();
  });

  it("reads older lines in blocks when told, each line once, and goes on reading new ones", async () => {
    rowsAre(19);
    written(KEPT + 1234);
    const { user } = await open();
    await screen.findByText("1,234 earlier lines are not shown");
    await user.click(screen.getByRole("button", { name: "Read older lines" }));
    await screen.findByText("1,000 earlier lines are not shown");
    written(KEPT + 1240);
    server.send("logs", { id: "run_21", experiment_id: "exp_7" }, 6);
    await screen.findByText("1,006 earlier lines are not shown");
    await user.click(screen.getByRole("button", { name: "Read older lines" }));
    await screen.findByText("1,000 earlier lines are not shown");
    await user.click(screen.getByRole("button", { name: "Read older lines" }));
    await waitFor(() => expect(screen.queryByText(/earlier lines/)).toBeNull());
    await user.click(screen.getByRole("button", { name: "Draw all 6,240 lines" }));
    const numbers = [...log().querySelectorAll("[data-index]")].map(
      (line) => line.lastElementChild?.textContent,
    );
    expect(numbers).toEqual(Array.from({ length: KEPT + 1240 }, (_, i) => `line ${i + 1}`));
  });

  it("stays where it is read while older lines come above", async () => {
    rowsAre(19);
    written(KEPT + 500);
    const { user, idle } = await open();
    await screen.findByText("500 earlier lines are not shown");
    const height = () => (screen.queryByText(/earlier lines/) ? KEPT : KEPT + 500) * 19;
    Object.defineProperty(log(), "scrollHeight", { configurable: true, get: height });
    for (const scrollTop of [60, 40]) fireEvent.scroll(log(), { target: { scrollTop } }); // upwards
    await idle();
    const asked = queries().length;
    server.send("logs", { id: "run_21", experiment_id: "exp_7" }, 6);
    await waitFor(() => expect(queries().length).toBeGreaterThan(asked));
    await idle(); // it has been drawn once more: the height is known
    await user.click(screen.getByRole("button", { name: "Read older lines" }));
    await waitFor(() => expect(screen.queryByText(/earlier lines/)).toBeNull());
    expect(log().scrollTop).toBe(40 + 500 * 19);
  });

  it("stays where it is read while lines above are let go, and takes the end up again", async () => {
    rowsAre(19);
    written(KEPT);
    await open();
    await screen.findByRole("button", { name: "Draw all 5,000 lines" });
    Object.defineProperty(log(), "scrollHeight", { configurable: true, get: () => KEPT * 19 });
    fireEvent.scroll(log(), { target: { scrollTop: KEPT * 19 - 600 } }); // 600 px of it are in view
    fireEvent.scroll(log(), { target: { scrollTop: 3000 * 19 } });
    const grow = async (count: number) => {
      written(count);
      server.send("logs", { id: "run_21", experiment_id: "exp_7" }, count);
      await screen.findByText(`${count - KEPT} earlier lines are not shown`);
    };
    await grow(KEPT + 100);
    expect(log().scrollTop).toBe(2900 * 19); // the line that was at the top is there
    await grow(KEPT + 150);
    expect(log().scrollTop).toBe(2850 * 19);
    fireEvent.scroll(log(), { target: { scrollTop: KEPT * 19 - 600 } });
    await grow(KEPT + 151);
    expect(log().scrollTop).toBe(KEPT * 19);
  });

  it("of many lines draws those in view, and tells a screen reader of none that scrolling draws", async () => {
    rowsAre(19);
    written(1000);
    await open();
    await screen.findByText("line 1");
    expect(log()).toHaveAttribute("aria-live", "off");
    const drawn = () =>
      [...log().querySelectorAll<HTMLElement>("[data-index]")].map((line) => line.dataset.index);
    expect(drawn().length).toBeLessThan(100);
    fireEvent.scroll(log(), { target: { scrollTop: 500 * 19 } });
    expect(await screen.findByText("line 510")).toBeVisible();
    expect(drawn()).not.toContain("0");
    expect(drawn().length).toBeLessThan(100);
  });

  it("is of one rank where the address or the picker says so", async () => {
    written(1);
    const { user, address } = await open("/runs/run_21?rank=1");
    await screen.findByText("line 1");
    expect(queries()[0]).toMatchObject({ rank: "1" });
    const picker = screen.getByRole("combobox", { name: "Lines of which rank" });
    expect(picker).toHaveValue("rank 1");
    await user.click(picker);
    const lists = screen.getAllByRole("listbox").filter((list) => within(list).queryByText("all ranks"));
    expect(lists).toHaveLength(1);
    const options = within(lists[0] as HTMLElement)
      .getAllByRole("option")
      .map((option) => option.textContent);
    expect(options).toEqual(["all ranks", "mpirun, supervisor", "rank 0", "rank 1", "rank 2"]);
    await user.click(screen.getByRole("option", { name: "mpirun, supervisor" }));
    await waitFor(() => expect(queries().at(-1)).toMatchObject({ rank: "-1" }));
    expect(address()).toBe("/runs/run_21?rank=-1");
    await user.click(picker);
    await user.click(screen.getByRole("option", { name: "all ranks" }));
    await waitFor(() => expect(queries().at(-1)).not.toHaveProperty("rank"));
    expect(address()).toBe("/runs/run_21");
  });

  it("follows its end while the reader stays there, and leaves a reader alone who scrolled up", async () => {
    written(3);
    await open();
    await screen.findByText("line 3");
    let height = 2000;
    Object.defineProperty(log(), "scrollHeight", { configurable: true, get: () => height });
    const grow = async (count: number) => {
      height += 100;
      written(count);
      server.send("logs", { id: "run_21", experiment_id: "exp_7" }, count);
      await screen.findByText(`line ${count}`);
    };
    await grow(4);
    expect(log().scrollTop).toBe(2100);
    fireEvent.scroll(log(), { target: { scrollTop: 300 } });
    await grow(5);
    expect(log().scrollTop).toBe(300);
    fireEvent.scroll(log(), { target: { scrollTop: height - 600 } }); // 600 px of it are in view
    await grow(6);
    expect(log().scrollTop).toBe(2300);
    height += 500; // lines have come, or have become longer, and the browser tells of the move to the end before
    fireEvent.scroll(log());
    await grow(7);
    expect(log().scrollTop).toBe(2900);
    fireEvent.scroll(log(), { target: { scrollTop: 300 } });
    fireEvent.keyDown(log(), { key: "End" });
    await grow(8);
    expect(log().scrollTop).toBe(3000);
  });
});
