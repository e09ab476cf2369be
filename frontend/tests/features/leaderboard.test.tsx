import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { allProfiles, colorsOf, shareAt } from "@/features/leaderboard/profile-series";
import type { Board, Leaderboard, MethodResult, RankedMethod } from "@/lib/client/types.gen";
import { curvesCsv } from "@/lib/export/curves-sheet";
import { openApp } from "../support/app";
import { CATALOGUE } from "../support/fixtures/catalogue";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();

const result = (changes: Partial<MethodResult> = {}): MethodResult => ({
  variant: "fast",
  experiment: "exp_7",
  variants: 1,
  seconds: 4.5,
  ratio: 1,
  reached: 3,
  seeds: 3,
  ...changes,
});

const method = (algorithm: string, changes: Partial<RankedMethod> = {}): RankedMethod => ({
  algorithm,
  score: 0.8333,
  low: 0.7,
  high: 0.9,
  tau: [1, 1, 1, 2, 2, 4],
  rho: [0, 0, 0.5, 0.5, 1, 1],
  results: [result(), result({ seconds: 6, ratio: 2 })],
  ...changes,
});

const board = (changes: Partial<Board> = {}): Board => ({
  cluster: "local",
  workers: 2,
  simulated: false,
  oversubscribed: false,
  workloads: ["digits-mlp", "mnist-lenet"].map((name, at) => ({
    name,
    target: "90% validation accuracy",
    trials: 12,
    experiments: [{ id: `exp_${at + 7}`, number: at + 7, name: "tuned" }],
  })),
  methods: [
    method("sync-easgd"),
    method("unknown-here", {
      score: 0.1,
      low: null,
      high: null,
      tau: [1, 3, 3, 4],
      rho: [0, 0, 0.5, 0.5],
      results: [
        result({ seconds: null, ratio: null, reached: 1 }),
        result({ seconds: 9, ratio: 3, variants: 2, variant: "period 8" }),
      ],
    }),
  ],
  unranked: [],
  ...changes,
});

async function open(answer: Partial<Leaderboard>, address = "/leaderboard") {
  server.on("GET /algorithms", CATALOGUE);
  server.on("GET /leaderboard", { tau_max: 4, choices: [], boards: [], left_out: [], ...answer });
  return openApp(server, address);
}

describe("the leaderboard", () => {
  it("has a row per method with score, interval, time and ratio on every workload", async () => {
    await open({ boards: [board()] });
    const rows = await screen.findAllByTestId("method");
    const texts = rows.map((row) =>
      within(row)
        .getAllByRole("cell")
        .map((cell) => cell.textContent),
    );
    await waitFor(() => expect(rows[0]).toHaveTextContent("Sync EASGD"));
    expect(texts[0]?.slice(1)).toEqual(["0.830.70 to 0.90", "4.5 s 1×fast", "6 s 2×fast"]);
    expect(texts[1]).toEqual([
      "unknown-here",
      "0.10no interval: fewer than 3 seeds",
      "missed1 of 3 seeds reached it",
      "9 s 3×period 8, best of 2 variants",
    ]);
    expect(screen.getByRole("link", { name: "#8" })).toHaveAttribute("href", "/experiments/exp_8");
    expect(screen.getByRole("columnheader", { name: /digits-mlp/ })).toHaveTextContent(
      "90% validation accuracy, 12 trials",
    );
    expect(screen.queryByText("simulated")).toBeNull();
    expect(screen.getByTestId("profiles")).toBeVisible();
    expect(screen.getByRole("link", { name: "Leaderboard" })).toHaveAttribute("aria-current", "page");
    expect(document.title).toBe("Leaderboard · Hooke");
  });

  it("labels what is simulated, one workload, and methods that lack one", async () => {
    const [only] = board().workloads;
    const methods = [method("sync-easgd", { results: [result()] })];
    const unranked = [{ algorithm: "other", lacking: ["mnist-lenet"] }];
    await open({ boards: [board({ simulated: true, workloads: only ? [only] : [], methods, unranked })] });
    const part = within(await screen.findByTestId("board"));
    expect(part.getByText("simulated")).toBeVisible();
    expect(part.getByText("Performance profiles (virtual time)")).toBeVisible();
    expect(part.getByRole("columnheader", { name: /digits-mlp/ })).toHaveTextContent("virtual s");
    expect(part.getByText(/not enough for a ranking/)).toBeVisible();
    expect(part.getByTestId("unranked")).toHaveTextContent("other (not on mnist-lenet)");
  });

  it("says how to get on it while nothing counts, and why each experiment does not", async () => {
    await open({ left_out: [{ id: "exp_3", number: 3, name: "plain", why: "it has no target: set one" }] });
    expect(await screen.findByTestId("empty")).toHaveTextContent("An experiment counts if it has a target");
    expect(screen.getByTestId("left-out")).toHaveTextContent("#3 plain: it has no target: set one");
    expect(screen.getByRole("link", { name: "#3 plain" })).toHaveAttribute("href", "/experiments/exp_3");
  });

  it("is asked for one workload and one target of those that experiments have, which the address keeps", async () => {
    const choices = [
      { workload: "digits-mlp", targets: ["80%", "90%"] },
      { workload: "mnist-lenet", targets: ["80%"] },
    ];
    const { user, router } = await open({ boards: [board()], choices }, "/leaderboard?target=90%25");
    const asked = () => server.askedFor("GET /leaderboard").at(-1)?.query.toString();
    expect(await screen.findByLabelText("Target")).toHaveValue("90%");
    expect(asked()).toBe("target=90%25");
    await user.selectOptions(screen.getByLabelText("Workload"), "digits-mlp");
    await waitFor(() => expect(asked()).toBe("workload=digits-mlp&target=90%25"));
    await user.selectOptions(screen.getByLabelText("Workload"), "mnist-lenet"); // which has no such target
    await waitFor(() => expect(asked()).toBe("workload=mnist-lenet"));
    expect(router.state.location.search).toEqual({ workload: "mnist-lenet" });
    act(() => router.history.back());
    await waitFor(() => expect(screen.getByLabelText("Workload")).toHaveValue("digits-mlp"));
    expect(screen.getByLabelText("Target")).toHaveValue("90%");
  });

  it("is sorted by the times on a workload", async () => {
    const [first, second] = board().methods;
    const slow = { ...first, results: [result(), result({ seconds: 12 })] } as RankedMethod;
    const { user, router } = await open({ boards: [board({ methods: [slow, second as RankedMethod] })] });
    const names = () => screen.getAllByTestId("method").map((row) => row.textContent?.slice(0, 12));
    await screen.findByText("Sync EASGD");
    expect(names()).toEqual(["Sync EASGD0.", "unknown-here"]);
    await user.click(screen.getByRole("button", { name: "mnist-lenet" }));
    await waitFor(() => expect(names()).toEqual(["unknown-here", "Sync EASGD0."]));
    expect(router.state.location.search).toEqual({ sort: "mnist-lenet" });
    await user.click(screen.getByRole("button", { name: "digits-mlp" })); // one without a time comes last
    await waitFor(() => expect(names()).toEqual(["Sync EASGD0.", "unknown-here"]));
    await user.click(screen.getByRole("button", { name: /^Score/ }));
    await waitFor(() => expect(router.state.location.search).toEqual({}));
  });

  it("says that it could not be computed, and tries again", async () => {
    server.on("GET /algorithms", CATALOGUE);
    server.on("GET /leaderboard", new Refusal(503, "The database is locked."));
    const { user } = openApp(server, "/leaderboard");
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("The leaderboard could not be computed. The database is locked.");
    server.on("GET /leaderboard", { tau_max: 4, choices: [], boards: [board()], left_out: [] });
    await user.click(within(alert).getByRole("button", { name: "Try again" }));
    expect(await screen.findAllByTestId("method")).toHaveLength(2);
  });
});

describe("profiles as curves", () => {
  it("begin with their value at 1, and jump at one place each", () => {
    const [curve] = allProfiles(
      [method("a")],
      (name) => name,
      2,
      () => 0,
    );
    expect(curve?.x).toEqual([1, 2 - 1e-6, 2, 4]);
    expect(curve?.y).toEqual([0.5, 0.5, 1, 1]);
    const [never] = allProfiles(
      [method("b", { tau: [1, 4], rho: [0, 0] })],
      (name) => name,
      2,
      () => 0,
    );
    expect([never?.x, never?.y]).toEqual([
      [1, 4],
      [0, 0],
    ]);
    const [late] = allProfiles(
      [method("c", { tau: [1, 3, 3, 4], rho: [0, 0, 0.5, 0.5] })],
      (name) => name,
      2,
      () => 0,
    );
    expect([late?.x, late?.y]).toEqual([
      [1, 3 - 1e-6, 3, 4],
      [0, 0, 0.5, 0.5],
    ]);
  });

  it("are a table with each factor once, and the share of every algorithm there", async () => {
    const other = method("other", { tau: [1, 1.5, 1.5, 4], rho: [0, 0, 0.5, 0.5] });
    const { user } = await open({ boards: [board({ methods: [method("sync-easgd"), other] })] });
    const chart = within(await screen.findByTestId("profiles"));
    await user.click(chart.getByRole("button", { name: /^Export:/ }));
    await user.click(await screen.findByRole("menuitem", { name: "Show as a table" }));
    const [, ...rows] = within(await screen.findByTestId("chart-table")).getAllByRole("row");
    const cells = (row: HTMLElement) => [...row.children].map((each) => each.textContent);
    expect(rows.map(cells)).toEqual([
      ["1", "50%", "0%"],
      ["1.5", "50%", "50%"],
      ["2", "100%", "50%"],
      ["4", "100%", "50%"],
    ]);
  });

  it("that are equal stand beside one another, and are still told as they are", () => {
    const many = Array.from({ length: 12 }, (_, i) => method(`m${i}`));
    const heights = allProfiles(
      many,
      (name) => name,
      8,
      () => 0,
    ).map(({ y }) => y[0] ?? 0);
    expect(heights[0]).toBe(0.5);
    expect(new Set(heights).size).toBe(12);
    expect(heights.map((height) => shareAt(height, 8))).toEqual(Array(12).fill(0.5));
    expect([shareAt(0, 3), shareAt(-0.05, 3), shareAt(1, 3), shareAt(0.95, 8)]).toEqual([0, 0, 1, 1]);
  });

  it("leave for a file at their own heights, not beside one another", () => {
    const many = Array.from({ length: 3 }, (_, i) => method(`m${i}`));
    const lines = curvesCsv(
      allProfiles(
        many,
        (name) => name,
        2,
        () => 0,
      ),
      "τ",
      "share",
    ).split("\r\n");
    expect(lines.filter((line) => line.includes(",2,"))).toEqual(["m0,2,1,,", "m1,2,1,,", "m2,2,1,,"]);
  });

  it("tell the share among more workloads, too", () => {
    const methods = Array.from({ length: 12 }, (_, i) => method(`m${i}`, { tau: [1, 2], rho: [0.45, 0.45] }));
    const shares = allProfiles(
      methods,
      (name) => name,
      40,
      () => 0,
    ).map(({ y }) => shareAt(y[0] ?? 0, 40));
    expect(shares).toEqual(Array(12).fill(18 / 40));
  });
});

it("a method has one colour on all boards, whatever its rank", () => {
  const first = board({ methods: [method("slowmo"), method("easgd"), method("demo")] });
  const second = board({ cluster: "other", methods: [method("demo"), method("slowmo")] });
  const styles = (of: Board, boards: Board[]) =>
    new Map(
      allProfiles(of.methods, (name) => name, 2, colorsOf(boards)).map(({ label, style }) => [label, style]),
    );
  const before = styles(first, [first, second]);
  expect(new Set([...before.values()].map(({ light }) => light)).size).toBe(3);
  const overtaken = board({ methods: [...first.methods].reverse() });
  expect(styles(overtaken, [second, overtaken])).toEqual(before);
  expect(styles(second, [first, second]).get("demo")).toEqual(before.get("demo"));
});
