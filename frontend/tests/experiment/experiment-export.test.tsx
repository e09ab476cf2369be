import { screen } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { experiment } from "../support/fixtures/experiment";
import { apiServer } from "../support/server";
import { answerExperiment, openExperiment } from "./page";

const server = apiServer();
beforeEach(() => answerExperiment(server));

const ORIGIN = {
  server: "lab.example.org",
  experiment: "exp_1",
  number: 12,
  user: "ada",
  hooke: "0.1.0",
  exported_at: "2026-05-01T12:00:00Z",
  imported_at: "2026-06-01T12:00:00Z",
};

describe("exporting an experiment", () => {
  it("offers its files once it has ended", async () => {
    server.on("GET /experiments/*", experiment({ state: "succeeded", runs: { succeeded: 9 } }));
    const { user } = await openExperiment(server);
    await user.click(screen.getByTestId("export"));
    const items = await screen.findAllByRole("menuitem");
    expect(items.map((item) => item.getAttribute("href"))).toEqual([
      "/api/v1/experiments/exp_7/report.html",
      "/api/v1/experiments/exp_7/bundle",
      "/api/v1/experiments/exp_7/bundle?logs=true&traces=true",
      "/api/v1/runs.csv?experiment=exp_7",
      "/api/v1/experiments/exp_7/points.csv",
    ]);
    for (const item of items.slice(1)) expect(item).toHaveAttribute("download");
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

  it("says where an imported experiment was made", async () => {
    server.on("GET /experiments/*", experiment({ origin: ORIGIN }));
    await openExperiment(server);
    const note = screen.getByTestId("origin");
    expect(note).toHaveTextContent("imported from lab.example.org #12");
    expect(note.title).toContain("Submitted there by ada");
  });
});
