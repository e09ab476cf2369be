import { fireEvent, screen, within } from "@testing-library/react";
import { beforeEach, expect, it, vi } from "vitest";
import { figuresOf, METHODS } from "@/features/algorithms/figures";
import { openApp } from "../support/app";
import { algorithm, CATALOGUE } from "../support/fixtures/catalogue";
import { apiServer } from "../support/server";

const server = apiServer();

beforeEach(() => {
  const items = [...CATALOGUE.items, algorithm("sgd", "SGD"), algorithm("async-sgd", "Async SGD")];
  server.on("GET /algorithms", { ...CATALOGUE, items });
});

it("there is a drawing of every built-in method, or a reason", () => {
  expect(METHODS.length).toBeGreaterThan(35);
  for (const name of METHODS) {
    const drawn = figuresOf(name)?.drawn;
    if (drawn && "reason" in drawn) expect(drawn.reason).toMatch(/\.$/);
    else expect(drawn?.messages.length, name).toBeGreaterThan(0);
  }
});

it("a page draws every message as an arrow, and lists them", async () => {
  openApp(server, "/algorithms/async-sgd");
  const drawing = await screen.findByTestId("diagram");
  const rows = within(screen.getByTestId("messages")).getAllByRole("row", { hidden: true }).slice(1);
  expect(drawing.querySelectorAll("line[marker-end]")).toHaveLength(rows.length);
  // Async SGD: a worker talks to the server alone
  for (const row of rows) {
    const [from, to] = [...row.children].map((cell) => cell.textContent);
    expect([from, to].filter((one) => one === "server")).toHaveLength(1);
  }
  expect(within(drawing).getByText("worker 3")).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Pause" })).toBeNull(); // no movement is wanted
  expect(drawing.querySelector("circle")).toBeNull();
});

it("what moves can be stopped, and begins anew at its end", async () => {
  const list = { matches: false, addEventListener: () => {}, removeEventListener: () => {} };
  vi.spyOn(window, "matchMedia").mockReturnValue(list as unknown as MediaQueryList);
  const { user } = openApp(server, "/algorithms/async-sgd");
  const drawing = await screen.findByTestId("diagram");
  const dots = () => [...drawing.querySelectorAll("circle")];
  expect(dots()).toHaveLength(drawing.querySelectorAll("line[marker-end]").length);
  const [first] = dots();
  const cursor = first?.parentElement?.querySelector("line");
  // jsdom has no animations, for which React listens by the older name
  if (cursor) fireEvent(cursor, new Event("webkitAnimationEnd", { bubbles: true }));
  expect(first?.isConnected).toBe(false);
  expect(dots().length).toBeGreaterThan(0);
  await user.click(screen.getByRole("button", { name: "Pause" }));
  expect(drawing.getAttribute("class")).toMatch(/paused/);
  await user.click(screen.getByRole("button", { name: "Play" }));
  expect(drawing.getAttribute("class")).toBeNull();
  vi.restoreAllMocks();
});

it("a method without a drawing says why", async () => {
  openApp(server, "/algorithms/sgd");
  expect(await screen.findByText("It has one worker, which sends nothing.")).toBeVisible();
  expect(screen.getByText("This algorithm sends nothing.")).toBeVisible();
  expect(screen.queryByTestId("cost")).toBeNull();
});

it("one's own method has no drawing and no prices", async () => {
  openApp(server, "/algorithms/gossip");
  expect(await screen.findByText(/^Only built-in algorithms have a diagram/)).toBeVisible();
  expect(screen.getByText("This algorithm does not declare what it exchanges.")).toBeVisible();
});

it("costs are those of the network that is chosen, bounds those of the workers", async () => {
  const { user } = openApp(server, "/algorithms/sync-easgd");
  const table = within(await screen.findByTestId("cost"));
  const eight = () => [...(table.getAllByRole("row")[3]?.children ?? [])].map((cell) => cell.textContent);
  // an all-reduce per step by halving: 2 log2 8 A + 2 7/8 |W| B, 6 messages of each worker
  expect(eight()).toEqual(["8", "1.72 MB", "24.1 MB", "48", "2.76 ms"]);
  await user.selectOptions(screen.getByLabelText("Network"), "fdr");
  expect(eight().at(-1)).toBe("608 µs");
  await user.selectOptions(screen.getByLabelText("Stability bounds for workers"), "8");
  const rho = screen.getAllByTestId("parameter")[1];
  expect(rho).toHaveTextContent(/Stable without gradients below [\d.]+ on 8 workers at lr = 0.1/);
});
