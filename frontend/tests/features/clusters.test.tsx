import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { clusterState } from "@/features/clusters/state";
import type { ClusterTokenView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { cluster } from "../support/fixtures/catalogue";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();

const token = (changes: Partial<ClusterTokenView> = {}): ClusterTokenView => ({
  id: "tok_0123456789abcdef",
  cluster: "hpc",
  label: "login node",
  created_by: "owner",
  created_at: "2026-03-01T10:00:00Z",
  expires_at: "2026-05-30T10:00:00Z",
  used_at: null,
  revoked_at: null,
  renews: null,
  ...changes,
});

function open(changes: Parameters<typeof cluster>[1] = {}, tokens: ClusterTokenView[] = []) {
  server.on("GET /clusters", { items: [cluster("hpc", changes)] });
  server.on("GET /clusters/*/tokens", { items: tokens });
  return openApp(server, "/clusters");
}

describe("the state of a cluster", () => {
  const now = Date.parse("2026-03-01T10:00:30Z");
  it.each([
    [{}, "good", "online, 8 slots free"],
    [{ busy: 3 }, "live", "3 of 8 slots busy"],
    [{ draining: true }, "warn", "drained"],
    [{ draining: true, busy: 2 }, "warn", "draining: its runs continue"],
    [{ online: false, draining: true }, "off", "offline, last heard 30 s ago"],
    [{ held_until: "2026-03-01T10:00:20Z", held_why: "on n1: no space" }, "good", "online, 8 slots free"],
  ])("%o", (changes, tone, words) => {
    expect(clusterState(cluster("hpc", changes), now)).toEqual({ tone, words });
  });
});

it("a server that no cluster has joined says so", async () => {
  server.on("GET /clusters", { items: [] });
  openApp(server, "/clusters");
  expect(await screen.findByText(/^No cluster has joined yet/)).toBeVisible();
});

describe("a cluster whose launches fail", () => {
  it("is paused, and says until when and why", () => {
    const now = Date.parse("2026-03-01T10:00:30Z");
    const paused = cluster("hpc", {
      held_until: "2026-03-01T10:01:00Z",
      held_why: "on n1: no space is left",
    });
    const { tone, words } = clusterState(paused, now);
    expect(tone).toBe("warn");
    expect(words).toMatch(/^paused until 2026-03-01 \d\d:01:00: a launch failed on n1: no space is left$/);
  });
});

describe("the page of clusters", () => {
  it.each([
    [3720, "its clock is 1 h 02 min ahead of the server's"],
    [-2.5, "its clock is 2.5 s behind the server's"],
  ])("tells a clock that is %d s off", async (clock_offset, words) => {
    open({ clock_offset });
    const part = within(await screen.findByTestId("cluster-hpc"));
    expect(part.getByText(words)).toBeVisible();
  });

  it("shows what the agent reports, and what it lacks with the remedy", async () => {
    open({
      hardware: { cpu: "AMD EPYC", gpus: "2 x H100", memory_bytes: 2 ** 34 },
      missing_data: { "mnist-lenet": "it lacks four files: put them there" },
      machine_shared_with: ["lab", "local"],
    });
    const part = within(await screen.findByTestId("cluster-hpc"));
    expect(part.getByText("2 x H100").previousSibling).toHaveTextContent("GPUs");
    expect(part.getByText("on one machine with lab, local")).toBeVisible();
    expect(part.queryByText(/its clock/)).toBeNull();
    expect(part.getByText(/Data sets not found by its agent: mnist-lenet/)).toBeVisible();
    expect(part.getByText("it lacks four files: put them there")).toBeInTheDocument();
    expect(document.title).toBe("Clusters · Hooke");
  });

  it("drains, and says why it cannot remove", async () => {
    const { user } = open();
    server.on("POST /clusters/*/drain", cluster("hpc", { draining: true }));
    server.on("DELETE /clusters/*", new Refusal(409, "3 runs of 'hpc' have not ended"));
    await user.click(await screen.findByTestId("drain"));
    await waitFor(() => expect(server.askedFor("POST /clusters/*/drain")).toHaveLength(1));
    await user.click(screen.getByTestId("remove"));
    await user.click(await screen.findByTestId("remove-confirm"));
    expect(await screen.findByTestId("error")).toHaveTextContent("3 runs of 'hpc' have not ended");
  });

  it("resumes a drained cluster", async () => {
    const { user } = open({ draining: true });
    server.on("POST /clusters/*/resume", cluster("hpc"));
    await user.click(await screen.findByTestId("resume"));
    await waitFor(() => expect(server.askedFor("POST /clusters/*/resume")).toHaveLength(1));
  });

  it("makes a token, shows it once with the commands, and revokes one after asking", async () => {
    const { user } = open({}, [token(), token({ id: "tok_2", revoked_at: "2026-03-01T10:00:00Z" })]);
    server.on("POST /clusters/*/tokens", { ...token(), token: "hooke_cluster_secret" });
    server.on("POST /cluster-tokens/*/revoke", token({ revoked_at: "2026-03-01T10:00:00Z" }));
    const name = await screen.findByLabelText("Cluster");
    await user.type(name, "Not A Name");
    expect(screen.getByTestId("make-token")).toBeDisabled();
    await user.clear(name);
    await user.type(name, "hpc");
    await user.click(screen.getByTestId("make-token"));
    expect(await screen.findByTestId("new-token")).toHaveTextContent("echo hooke_cluster_secret > hpc.token");
    const rows = within(await screen.findByTestId("tokens")).getAllByRole("row");
    expect(rows[1]).toHaveTextContent("login node");
    expect(rows[2]).toHaveTextContent("revoked");
    await user.click(screen.getByTestId("revoke"));
    await user.click(await screen.findByTestId("revoke-confirm"));
    await waitFor(() => expect(server.askedFor("POST /cluster-tokens/*/revoke")).toHaveLength(1));
  });

  it("follows the stream, and shows a cluster that joins", async () => {
    server.on("GET /clusters", { items: [] });
    server.on("GET /clusters/*/tokens", { items: [] });
    const { live } = openApp(server, "/clusters");
    expect(await screen.findByTestId("add-cluster")).toBeVisible();
    expect(screen.queryByTestId("cluster-state")).toBeNull();
    await live();
    server.on("GET /clusters", { items: [cluster("lab", { busy: 1, slots: 2 })] });
    server.send("clusters", {}, 1);
    expect(await screen.findByTestId("cluster-state")).toHaveTextContent("1 of 2 slots busy");
  });

  it("leads to the queue and to the calibration of a cluster", async () => {
    open();
    const part = within(await screen.findByTestId("cluster-hpc"));
    expect(part.getByRole("link", { name: "Queue and policy" })).toHaveAttribute(
      "href",
      "/clusters/hpc/queue",
    );
    expect(part.getByRole("link", { name: "Calibration" })).toHaveAttribute(
      "href",
      "/clusters/hpc/calibration",
    );
  });

  it("removes a cluster after asking, and keeps it where the answer is no", async () => {
    const { user } = open();
    server.on("DELETE /clusters/*", {});
    await user.click(await screen.findByTestId("remove"));
    await user.click(await screen.findByText("Keep it"));
    expect(server.askedFor("DELETE /clusters/*")).toHaveLength(0);
    await user.click(screen.getByTestId("remove"));
    server.on("GET /clusters", { items: [] });
    await user.click(await screen.findByTestId("remove-confirm"));
    await waitFor(() => expect(server.askedFor("DELETE /clusters/*")).toHaveLength(1));
    await waitFor(() => expect(screen.queryByTestId("cluster-hpc")).toBeNull());
  });

  it("says why clusters or tokens cannot be listed", async () => {
    server.on("GET /clusters", new Refusal(503, "The database is away."));
    const { user } = openApp(server, "/clusters");
    expect(await screen.findByTestId("error")).toHaveTextContent(
      "The clusters could not be loaded. The database is away.",
    );
    server.on("GET /clusters", { items: [cluster("hpc")] });
    server.on("GET /clusters/*/tokens", new Refusal(503, "The database is away."));
    await user.click(screen.getByText("Try again"));
    expect(await screen.findByText(/The tokens could not be loaded/)).toBeVisible();
  });
});
