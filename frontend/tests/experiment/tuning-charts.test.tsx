import { act, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { trial, tuned, tuning } from "../support/fixtures/tuning";
import { apiServer } from "../support/server";
import { answerTuned, card, looks, only, openTuned, rows } from "./tuned-page";

const server = apiServer();
beforeEach(() => answerTuned(server));
const open = (answer = tuning(), address?: string) => openTuned(server, answer, address);

describe("its charts", () => {
  it("draw trials that missed the target apart from those that met it", async () => {
    await open(only());
    const expected = [
      "1 usual",
      "2 usual",
      "3 missed",
      "4 usual",
      "5 missed",
      "7 failed",
      "8 missed",
      "6 chosen",
    ];
    expect(looks("response")).toEqual(expected); // the chosen one on top
    expect(new Set(looks("parallel"))).toEqual(new Set(expected));
    expect(looks("parallel").at(-1)).toBe("6 chosen");
    expect(within(screen.getByTestId("response")).getByRole("img")).toHaveAccessibleName(
      "Time to target (s) against lr: 4 trials; 3 missed the target; 1 failed; " +
        "chosen: Trial 6, rank 1: lr 0.29, momentum 0.4, kind nesterov; 500 ms",
    );
  });

  it("stand over the parameter that is asked for, in the address too", async () => {
    const { user, address } = await open();
    const picker = card().getByLabelText("Parameter of the response");
    expect(within(picker).getAllByRole("option")).toHaveLength(3);
    expect(within(screen.getByTestId("response")).getByText("lr (log scale)")).toBeVisible();
    await user.selectOptions(picker, "kind");
    await waitFor(() => expect(address()).toBe("/experiments/exp_7?by=kind"));
    const response = within(screen.getByTestId("response"));
    expect(response.getByRole("img")).toHaveAccessibleName(/against kind/);
    expect([...response.getByRole("img").querySelectorAll("text")].map((text) => text.textContent)).toEqual(
      expect.arrayContaining(["heavy", "nesterov"]),
    );
  });

  it("begin as the address says, or with the first parameter where there is no such one", async () => {
    await open(tuning(), "/experiments/exp_7?by=momentum");
    expect(screen.getByLabelText("Parameter of the response")).toHaveValue("momentum");
    expect(within(screen.getByTestId("response")).getByText("momentum (log of 1 − x scale)")).toBeVisible();
  });

  it("mark the trial whose row has the focus", async () => {
    await open(only());
    const link = within(rows()[1] as HTMLElement).getByRole("link");
    act(() => link.focus());
    await waitFor(() => expect(rows()[1]).toHaveAttribute("data-marked", "true"));
    const marked = screen.getByTestId("response").querySelectorAll("[stroke='var(--hk-amber)']");
    expect([...marked].map((ring) => ring.parentElement?.getAttribute("data-trial"))).toEqual(["2"]);
  });

  it("show accuracies where there is no target", async () => {
    server.on("GET /experiments/*", tuned({ target: null }));
    await open(
      only({ reached: null, median_seconds: null, trials: [trial(1), trial(2, { accuracy: 0.5 })] }),
    );
    const response = within(screen.getByTestId("response"));
    expect(response.getByRole("img")).toHaveAccessibleName("Validation accuracy against lr: 2 trials");
    expect(looks("response")).toEqual(["1 usual", "2 usual"]);
    expect(card().queryByText("Reached the target")).toBeNull();
    expect(card().getByTestId("search-facts")).toHaveTextContent("Best trial97.00%");
    const headers = card().getAllByRole("columnheader");
    expect(headers.map((header) => header.textContent)).toEqual([
      "Rank",
      "Trial",
      "lr",
      "momentum",
      "kind",
      "Accuracy",
      "Rung",
      "Runs",
    ]);
    expect(screen.getByTestId("tuning")).not.toHaveTextContent("met the target");
  });
});
