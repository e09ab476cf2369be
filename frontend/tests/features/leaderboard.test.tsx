import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { RankedMethod } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { board, method, openBoards, result } from "../support/boards";
import { CATALOGUE } from "../support/fixtures/catalogue";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();

const open = openBoards.bind(null, server);

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
    expect(part.getByText("Performance profiles (simulated)")).toBeVisible();
    expect(part.getByRole("columnheader", { name: /digits-mlp/ })).toHaveTextContent("virtual s");
    expect(part.getByText(/not enough for a ranking/)).toBeVisible();
    expect(part.getByTestId("unranked")).toHaveTextContent("other (not on mnist-lenet)");
    expect(part.queryByTestId("by-hand")).toBeNull();
  });

  it("says what was left to no search on a workload", async () => {
    const [first, ...others] = board().workloads;
    const given = { by_hand: "#8: Searched in spaces of their own: Local SGD (lr)." };
    await open({ boards: [board({ workloads: first ? [{ ...first, ...given }, ...others] : [] })] });
    expect(await screen.findByTestId("by-hand")).toHaveTextContent(
      "digits-mlp: #8: Searched in spaces of their own: Local SGD (lr).",
    );
  });

  it("says what else is to be known of how a workload was measured", async () => {
    const [first, ...others] = board().workloads;
    const known = { extended: "#8: Seeds were added after 3 had been compared (now 5)." };
    await open({ boards: [board({ workloads: first ? [{ ...first, ...known }, ...others] : [] })] });
    expect(await screen.findByTestId("extended")).toHaveTextContent(
      "digits-mlp: #8: Seeds were added after 3 had been compared (now 5).",
    );
    expect(screen.queryByTestId("by-hand")).toBeNull();
  });

  it("says how to get on it while nothing counts, and why each experiment does not", async () => {
    await open({
      left_out: [{ id: "exp_3", number: 3, name: "plain", why: "it has no target: clone it with one" }],
    });
    expect(await screen.findByTestId("empty")).toHaveTextContent("An experiment counts if it has a target");
    expect(screen.getByTestId("left-out")).toHaveTextContent("#3 plain: it has no target: clone it with one");
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
