import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { Checkpoints } from "@/features/run/checkpoints";
import type { FetchView, Me } from "@/lib/client/types.gen";
import { show } from "../support/app";
import { checkpoint, run } from "../support/fixtures/run";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const RUN = run({ host: "lab", checkpoints: [1000, 2000, 3000].map((samples) => checkpoint(samples)) });

function fetchOf(samples: number, changes: Partial<FetchView> = {}): FetchView {
  return {
    ...{
      id: `fet_${samples}`,
      run_id: RUN.id,
      cluster: "lab",
      attempt: 1,
      samples,
      state: "waiting",
      why: "",
    },
    ...{ size: 4e6, received: 0, files: [], created_at: "2026-03-01T10:00:00Z", created_by: "ana" },
    ...{ ended_at: null, expires_at: null },
    ...changes,
  };
}

function shown(...items: FetchView[]) {
  server.on("GET /runs/*/fetches", { items });
  return show(
    <QueryClientProvider client={new QueryClient()}>
      <Checkpoints run={RUN} />
    </QueryClientProvider>,
  );
}

const row = async (folder: string) =>
  within((await screen.findByText(folder)).closest("li") as HTMLLIElement);

describe("a checkpoint", () => {
  it("is fetched, is on its way, and can be downloaded", async () => {
    const { user } = shown();
    server.on("POST /runs/*/fetches", () => {
      server.on("GET /runs/*/fetches", { items: [fetchOf(3000, { state: "sending", received: 1e6 })] });
      return fetchOf(3000);
    });
    const mine = await row("ckpt-3000");
    await user.click(await mine.findByRole("button", { name: "Fetch the checkpoint at 3,000 samples" }));
    expect(await mine.findByRole("progressbar")).toHaveAttribute("value", "1000000");
    expect(mine.getByText("1 MB of 4 MB")).toBeVisible();
    const [asked] = server.asked.filter(({ operation }) => operation === "POST /runs/*/fetches");
    expect(asked?.body).toEqual({ attempt: 1, samples: 3000 });
    server.on("GET /runs/*/fetches", {
      items: [fetchOf(3000, { state: "ready", received: 4e6, expires_at: "2026-03-02T10:00:00Z" })],
    });
    const link = await mine.findByRole("link");
    expect(link).toHaveAttribute("href", "/api/v1/runs/run_21/fetches/fet_3000/checkpoint.tar");
    expect(mine.getByText(/^on the server until 2026-03-0/)).toBeVisible();
  });

  it("that waits can be cancelled", async () => {
    const { user } = shown(fetchOf(2000));
    const mine = await row("ckpt-2000");
    expect(await mine.findByText("Waiting for lab …")).toBeVisible();
    server.on("DELETE /runs/*/fetches/*", {});
    server.on("GET /runs/*/fetches", { items: [fetchOf(2000, { state: "cancelled" })] });
    await user.click(mine.getByRole("button", { name: "Cancel the fetch at 2,000 samples" }));
    expect(await mine.findByRole("button", { name: "Fetch the checkpoint at 2,000 samples" })).toBeVisible();
  });

  it("that failed says why, and that was refused says why", async () => {
    const { user } = shown(fetchOf(3000, { state: "failed", why: "on node1: rank.0.npz is a link" }));
    const mine = await row("ckpt-3000");
    expect(await mine.findByRole("alert")).toHaveTextContent(
      "could not be fetched: on node1: rank.0.npz is a link.",
    );
    server.on("POST /runs/*/fetches", new Refusal(409, "the disk of the server has 1 MiB free"));
    const other = await row("ckpt-2000");
    await user.click(other.getByRole("button", { name: "Fetch the checkpoint at 2,000 samples" }));
    expect(await other.findByRole("alert")).toHaveTextContent("the disk of the server has 1 MiB free");
    expect(mine.getAllByRole("alert")).toHaveLength(1);
  });

  it("that the server has is listed, although its cluster keeps it no more", async () => {
    shown(fetchOf(1000, { state: "ready", received: 4e6 }));
    expect(await screen.findByText("ckpt-1000")).toBeVisible();
    expect(screen.getAllByRole("listitem")).toHaveLength(3);
  });

  it("is fetched by researchers only", async () => {
    const viewer: Me = {
      ...{ name: "ben", role: "viewer", credential: "session" },
      ...{ is_user: true, users: true, projects: {} },
    };
    server.on("GET /me", viewer);
    shown();
    const mine = await row("ckpt-3000");
    expect(await mine.findByTestId("refused")).toBeDisabled();
  });
});
