import { screen, waitFor } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { experiment, ORIGIN } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";
import { answerExperiment, openExperiment } from "./page";

const server = apiServer();
beforeEach(() => answerExperiment(server));

describe("exporting an experiment", () => {
  it("offers its files once it has ended", async () => {
    server.on("GET /experiments/*", experiment({ state: "succeeded", runs: { succeeded: 9 } }));
    const { user } = await openExperiment(server);
    await user.click(screen.getByTestId("export"));
    const items = await screen.findAllByRole("menuitem");
    const files = items.filter((item) => item.hasAttribute("href"));
    expect(files.map((item) => item.getAttribute("href"))).toEqual([
      "/api/v1/experiments/exp_7/report.html",
      "/api/v1/experiments/exp_7/bundle",
      "/api/v1/experiments/exp_7/bundle?logs=true&traces=true",
      "/api/v1/runs.csv?experiment=exp_7",
      "/api/v1/experiments/exp_7/points.csv",
    ]);
    for (const file of files.slice(1)) expect(file).toHaveAttribute("download");
    expect(items.filter((item) => !files.includes(item)).map((item) => item.textContent)).toEqual([
      "Print or save as PDF",
      "All runs, Parquet",
      "All points, Parquet",
    ]);
  });

  it.each([
    ["-time", false, "experiment=exp_7&sort=-time_to_target"],
    ["run", false, "experiment=exp_7&sort=number"],
    ["-test", true, "experiment=exp_7&sort=-test_accuracy&filter=archived"],
    ["-state", false, "experiment=exp_7"],
  ])("offers all runs in the order of their table: %s", async (sort, archived, query) => {
    const fetched: (string | null)[] = [];
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
      if (this.hasAttribute("download")) fetched.push(this.getAttribute("href"));
    });
    server.on("GET /experiments/*", experiment({ archived }));
    server.on("GET /runs.parquet", "PAR1");
    const { user } = await openExperiment(server, `/experiments/exp_7?sort=${sort}`);
    await user.click(screen.getByTestId("export"));
    const file = await screen.findByRole("menuitem", { name: "All runs, CSV" });
    expect(file).toHaveAttribute("href", `/api/v1/runs.csv?${query}`);
    await user.click(await screen.findByRole("menuitem", { name: "All runs, Parquet" }));
    await waitFor(() => expect(fetched).toEqual([`/api/v1/runs.parquet?${query}`]));
    expect(`${server.askedFor("GET /runs.parquet")[0]?.query}`).toBe(query);
  });

  it("prints the report once it is there", async () => {
    const tab = {
      closed: false,
      location: { href: "about:blank" },
      document: { readyState: "complete" },
      print: vi.fn(),
    };
    const opened = vi.spyOn(window, "open").mockReturnValue(tab as unknown as Window);
    const { user } = await openExperiment(server);
    await user.click(screen.getByTestId("export"));
    await user.click(await screen.findByRole("menuitem", { name: "Print or save as PDF" }));
    expect(opened).toHaveBeenCalledExactlyOnceWith("/api/v1/experiments/exp_7/report.html", "_blank");
    expect(tab.print).not.toHaveBeenCalled();
    tab.location.href = "http://127.0.0.1/api/v1/experiments/exp_7/report.html";
    await waitFor(() => expect(tab.print).toHaveBeenCalledOnce());
  });

  it("offers tables only while runs go on, and says when the rest follows", async () => {
    const { user } = await openExperiment(server);
    await user.click(screen.getByTestId("export"));
    const name = "Bundle, to import elsewhere, once all runs have ended";
    const whole = await screen.findByRole("menuitem", { name });
    expect(whole).not.toHaveAttribute("href");
    expect(whole).toHaveAttribute("data-disabled");
    expect(screen.getByRole("menuitem", { name: "All points, CSV" })).toHaveAttribute("href");
  });

  it.each([
    ["All runs, Parquet", "GET /runs.parquet", "/api/v1/runs.parquet?experiment=exp_7"],
    ["All points, Parquet", "GET /experiments/*/points.parquet", "/api/v1/experiments/exp_7/points.parquet"],
  ] as const)("fetches “%s” once the server has agreed to write it", async (name, operation, address) => {
    const fetched: string[] = [];
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
      if (this.hasAttribute("download")) fetched.push(this.getAttribute("href") ?? "");
    });
    server.on(operation, "PAR1");
    const { user } = await openExperiment(server);
    await user.click(screen.getByTestId("export"));
    await user.click(await screen.findByRole("menuitem", { name }));
    await waitFor(() => expect(fetched).toEqual([address]));
    const [asked] = server.askedFor(operation);
    expect(`${asked?.path}${asked?.query.size ? `?${asked.query}` : ""}`).toBe(address);
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("says what the server lacks where it writes no Parquet, and fetches nothing", async () => {
    const fetched = vi.spyOn(HTMLAnchorElement.prototype, "click");
    const why = "this server writes no Parquet, because pyarrow is not installed there";
    server.on("GET /experiments/*/points.parquet", new Refusal(409, why));
    const { user } = await openExperiment(server);
    await user.click(screen.getByTestId("export"));
    await user.click(await screen.findByRole("menuitem", { name: "All points, Parquet" }));
    expect(await screen.findByRole("alert")).toHaveTextContent(
      `The Parquet file could not be created. ${why}`,
    );
    expect(fetched).not.toHaveBeenCalled();
  });

  it("says where an imported experiment was made", async () => {
    server.on("GET /experiments/*", experiment({ origin: ORIGIN }));
    await openExperiment(server);
    const note = screen.getByTestId("origin");
    expect(note).toHaveTextContent("imported from lab.example.org #12");
    expect(note.title).toContain("Submitted there by ada");
  });
});
