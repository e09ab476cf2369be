import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { ExperimentView } from "@/lib/client/types.gen";
import { experiment, SPEC } from "../support/fixtures/experiment";
import { me } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";
import { answerExperiment, openExperiment } from "./page";

const server = apiServer();
beforeEach(() => answerExperiment(server));
const open = () => openExperiment(server);

describe("the header", () => {
  it("says what it is, how far it is, and leads to a copy and to its document", async () => {
    const { user, address } = await open();
    expect(screen.getByRole("heading", { name: "Digits, three ways" })).toBeVisible();
    expect(document.title).toBe("Digits, three ways · Hooke");
    expect(screen.getByTestId("progress")).toHaveTextContent("4 of 9 runs");
    expect(screen.getByText("120,000 samples, batch 32")).toBeVisible();
    expect(screen.getByText("started 2 min ago")).toBeVisible();
    expect(screen.getByRole("link", { name: "Clone" })).toHaveAttribute("href", "/new?clone=exp_7");
    const compare = screen.getByRole("link", { name: "Compare with…" });
    expect(compare).toHaveAttribute("href", `/compare?rows=${encodeURIComponent('["7"]')}`);
    await user.click(screen.getByRole("link", { name: "JSON" }));
    const json = await screen.findByRole("region", { name: "Specification as JSON" });
    expect(JSON.parse(json.textContent ?? "")).toEqual(SPEC);
    expect(address()).toBe("/experiments/exp_7?tab=json");
    await user.click(screen.getByRole("link", { name: "JSON" }));
    await waitFor(() => expect(screen.queryByRole("region", { name: "Specification as JSON" })).toBeNull());
  });

  it("asks before it cancels, and shows what became of it", async () => {
    const { user } = await open();
    const cancelled = experiment({ state: "cancelled", runs: { succeeded: 4, cancelled: 5 } });
    server.on("POST /experiments/*/cancel", cancelled).on("GET /experiments/*", cancelled);
    await user.click(screen.getByRole("button", { name: "Cancel" }));
    expect(await screen.findByText(/Cancel all runs of this experiment/)).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Keep it going" }));
    expect(server.askedFor("POST /experiments/*/cancel")).toHaveLength(0);
    await user.click(screen.getByRole("button", { name: "Cancel" }));
    await user.click(await screen.findByRole("button", { name: "Cancel the runs" }));
    await waitFor(() => expect(screen.getByTestId("experiment-state")).toHaveTextContent("cancelled"));
    expect(server.askedFor("POST /experiments/*/cancel")).toHaveLength(1);
    expect(screen.queryByRole("button", { name: "Cancel" })).toBeNull();
  });

  it("is cancelled by its user and by operators only, and says so to others", async () => {
    server.on("GET /me", me("researcher"));
    await open();
    const refused = await screen.findAllByRole("group", {
      name: /This belongs to owner: only owner or an operator/,
    });
    const cancels = refused.flatMap((group) => within(group).queryAllByRole("button", { name: "Cancel" }));
    expect(cancels).toHaveLength(1);
    expect(cancels[0]).toBeDisabled();
    expect(screen.getByRole("link", { name: "Clone" })).toBeVisible();
  });

  it("says why it could not be cancelled", async () => {
    const { user } = await open();
    server.on("POST /experiments/*/cancel", new Refusal(409, "It has ended."));
    await user.click(screen.getByRole("button", { name: "Cancel" }));
    await user.click(await screen.findByRole("button", { name: "Cancel the runs" }));
    expect(await screen.findByRole("alert")).toHaveTextContent(
      "The experiment could not be cancelled. It has ended.",
    );
  });

  it.each<[string, Partial<ExperimentView>, string | null]>([
    ["1 warning", { warnings: [{ pointer: "/batch", message: "odd" }] }, "odd"],
    [
      "2 warnings",
      {
        warnings: [
          { pointer: "/variants/1/parameters/lr", message: "rather large" },
          { pointer: "/batch", message: "odd" },
        ],
      },
      "Sync EASGD: rather large",
    ],
  ])("keeps %s of its submission", async (count, changes, words) => {
    server.on("GET /experiments/*", experiment(changes));
    await open();
    expect(
      within(screen.getByTestId("experiment-warnings")).getByText(`${count} when it was submitted`),
    ).toBeVisible();
    expect(within(screen.getByTestId("experiment-warnings")).getAllByRole("listitem")[0]).toHaveTextContent(
      words ?? "",
    );
  });
});
