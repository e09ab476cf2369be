import { fireEvent, screen, waitFor } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { hitsOf } from "@/features/run/use-find";
import { openApp } from "../support/app";
import { experiment } from "../support/fixtures/experiment";
import { logLine, logOf, run } from "../support/fixtures/run";
import { rowsAre } from "../support/layout";
import { apiServer } from "../support/server";

const server = apiServer();
const written = (...texts: string[]) =>
  server.on("GET /runs/*/logs", logOf(...texts.map((text, i) => logLine(i + 1, text))));
const current = () => screen.getByRole("log").querySelector("[aria-current]")?.textContent;

beforeEach(() => {
  server
    .on("GET /experiments/*", experiment())
    .on("POST /series", { axis: "clock", unit: "s", series: [] })
    .on("GET /runs/*", run());
});

describe("errors in a log", () => {
  it.each([
    ["Traceback (most recent call last):", true],
    ["ValueError: rho is negative", true],
    ["torch.OutOfMemoryError: no memory", true],
    ["[node1] ERROR: launch failed", true],
    ["mpirun: error: no slots", true],
    ["Segmentation fault (core dumped)", true],
    ["hooke.errors.DataMissing: no text", true],
    ["numpy.linalg is used: yes", false],
    ["mean error 0.02 of the center", false],
    ["terrors and mirrors", false],
    ["raise the learning rate", false],
  ])("%s: %s", (text, found) => {
    expect(hitsOf([logLine(1, text)], "errors")).toEqual(found ? [0] : []);
  });
});

describe("text", () => {
  it("is found in any case, the newest line first; Enter goes back, beyond the first to the last", async () => {
    written("Loss 3", "step", "loss 2", "end");
    const { user } = openApp(server, "/runs/run_21");
    await screen.findByText("Loss 3");
    await user.type(screen.getByTestId("log-find"), "LOSS");
    expect(screen.getByTestId("log-hits")).toHaveTextContent("2 of 2 lines");
    expect(current()).toContain("loss 2");
    await user.keyboard("{Enter}");
    expect(current()).toContain("Loss 3");
    await user.keyboard("{Enter}");
    expect(current()).toContain("loss 2");
    await user.click(screen.getByRole("button", { name: "Previous" }));
    expect(screen.getByTestId("log-hits")).toHaveTextContent("1 of 2 lines");
    await user.clear(screen.getByTestId("log-find"));
    expect(screen.queryByTestId("log-hits")).toBeNull();
    expect(current()).toBeUndefined();
  });

  it("is in the address, and so are errors", async () => {
    written("Loss 3", "ValueError: rho", "loss 2");
    const { user, router } = openApp(server, "/runs/run_21?find=loss");
    await screen.findByText("Loss 3");
    expect(screen.getByTestId("log-find")).toHaveValue("loss");
    expect(screen.getByTestId("log-hits")).toHaveTextContent("2 of 2 lines");
    await user.click(screen.getByTestId("log-errors"));
    await waitFor(() => expect(screen.getByTestId("log-hits")).toHaveTextContent("1 of 1 lines with errors"));
    expect(router.state.location.search).toEqual({ errors: "yes" });
    await user.type(screen.getByTestId("log-find"), "rho");
    await waitFor(() => expect(router.state.location.search).toEqual({ find: "rho" }));
    expect(screen.getByTestId("log-hits")).toHaveTextContent("1 of 1 lines");
  });

  it("that no line has is said", async () => {
    written("Loss 3");
    const { user } = openApp(server, "/runs/run_21");
    await screen.findByText("Loss 3");
    await user.type(screen.getByTestId("log-find"), "gain");
    expect(screen.getByTestId("log-hits")).toHaveTextContent("no lines");
  });

  it("stays the same line while the log grows", async () => {
    written("loss 3", "loss 2");
    const { user, live } = openApp(server, "/runs/run_21");
    await screen.findByText("loss 3");
    await live();
    await user.type(screen.getByTestId("log-find"), "loss");
    written("loss 3", "loss 2", "loss 1");
    server.send("logs", { id: "run_21", experiment_id: "exp_7" }, 6);
    await screen.findByText("loss 1");
    expect(screen.getByTestId("log-hits")).toHaveTextContent("2 of 3 lines");
    expect(current()).toContain("loss 2");
  });
});

it("an error far above is scrolled to", async () => {
  rowsAre(19);
  written(...Array.from({ length: 1000 }, (_, i) => (i === 400 ? "ValueError: rho" : `line ${i}`)));
  const { user } = openApp(server, "/runs/run_21");
  await screen.findByText("line 0");
  const log = screen.getByRole("log"); // jsdom has no heights, and does not scroll
  Object.defineProperty(log, "scrollHeight", { value: 1000 * 19 });
  const scrollTo = ({ top }: { top: number }) => {
    setTimeout(() => fireEvent.scroll(log, { target: { scrollTop: top } }));
  };
  Object.assign(log, { scrollTo });
  await user.click(screen.getByTestId("log-errors"));
  expect(screen.getByTestId("log-hits")).toHaveTextContent("1 of 1 lines with errors");
  await waitFor(() => expect(current()).toContain("ValueError: rho"));
});

describe("in a log of which old lines are cut", () => {
  const COUNT = 9000;
  const TOLD = new Set([700, 2200, 8000]);
  beforeEach(() => {
    rowsAre(19);
    server.on("GET /runs/*/logs", ({ query }) => {
      const after = Number(query.get("after"));
      const size = Math.min(Number(query.get("limit")), COUNT - after);
      const lines = Array.from({ length: size }, (_, i) =>
        logLine(after + i + 1, TOLD.has(after + i + 1) ? `loss ${after + i + 1}` : "step"),
      );
      return { lines, more: after + size < COUNT, next_after: after + size };
    });
  });

  it("older blocks are searched, newest first, until one has it, and to the beginning", async () => {
    const { user } = openApp(server, "/runs/run_21");
    await screen.findByText("4,000 earlier lines are not shown");
    Object.assign(screen.getByRole("log"), { scrollTo: () => undefined }); // jsdom does not scroll
    await user.type(screen.getByTestId("log-find"), "loss");
    const hits = screen.getByTestId("log-hits");
    expect(hits).toHaveTextContent("1 of 1 lines among the newest 5,000");
    const older = () => screen.getByRole("button", { name: "Search older lines" });
    await user.click(older());
    await waitFor(() => expect(hits).toHaveTextContent("1 of 2 lines among the newest 7,000"));
    await user.click(older());
    await waitFor(() => expect(hits).toHaveTextContent(/^1 of 3 lines$/));
    expect(screen.queryByRole("button", { name: "Search older lines" })).toBeNull();
    expect(screen.queryByText(/earlier lines/)).toBeNull();
  });

  it("what no line has is looked for to the beginning", async () => {
    const { user } = openApp(server, "/runs/run_21");
    await screen.findByText("4,000 earlier lines are not shown");
    await user.type(screen.getByTestId("log-find"), "gain");
    expect(screen.getByTestId("log-hits")).toHaveTextContent("no lines among the newest 5,000");
    await user.click(screen.getByRole("button", { name: "Search older lines" }));
    await waitFor(() => expect(screen.getByTestId("log-hits")).toHaveTextContent(/^no lines$/));
  });
});
