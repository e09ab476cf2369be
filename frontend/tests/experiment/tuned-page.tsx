/** The page of a tuned experiment, over a server that answers all it asks for. */
import { screen, within } from "@testing-library/react";
import type { SearchView, TuningView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { runSummary } from "../support/fixtures/run";
import { search, tuned, tuning } from "../support/fixtures/tuning";
import type { ApiServer } from "../support/server";
import { answerExperiment } from "./page";

export function answerTuned(server: ApiServer): void {
  answerExperiment(server);
  server
    .on("GET /experiments/*", tuned())
    .on("GET /experiments/*/tuning", tuning())
    .on("GET /runs", ({ query }) => ({
      items: query.get("reported") === "false" ? [] : [runSummary(21, { trial: 6 })],
      next_cursor: null,
    }));
}

export async function openTuned(server: ApiServer, answer: TuningView, address = "/experiments/exp_7") {
  server.on("GET /experiments/*/tuning", answer);
  const app = openApp(server, address);
  await screen.findAllByTestId("search");
  await screen.findByTestId("runs-table");
  await screen.findAllByTestId("comparison-row");
  return app;
}

/** A tuning with one search. */
export const only = (changes: Partial<SearchView> = {}) => tuning({ searches: [search(changes)] });

export const card = (index = 0) => within(screen.getAllByTestId("search")[index] as HTMLElement);
export const rows = (index = 0) => card(index).getAllByTestId("trial");
export const cells = (line: HTMLElement | undefined) =>
  within(line as HTMLElement)
    .getAllByRole("cell")
    .map((cell) => cell.textContent);

/** Trials as a chart draws them, in order: "3 missed". */
export const looks = (testId: string) =>
  [...within(screen.getByTestId(testId)).getByRole("img").querySelectorAll("[data-look]")].map(
    (element) => `${element.getAttribute("data-trial")} ${element.getAttribute("data-look")}`,
  );
