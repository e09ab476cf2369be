import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { intervalWords, meanShare, shareWords, summary } from "@/features/clusters/occupancy";
import type { OccupancyView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { cluster } from "../support/fixtures/catalogue";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const local = (hour: number, minute = 0) => new Date(2026, 2, 1, hour, minute).toISOString();
const VIEW: OccupancyView = {
  ...{ cluster: "hpc", slots: 8, since: local(10), seconds: 1800, shares: [null, 0, 0.5, 1] },
};

describe("the occupancy of a cluster", () => {
  it("is the mean of what is known", () => {
    expect(meanShare(VIEW)).toBe(0.5);
    expect(meanShare({ shares: [null, null] })).toBeUndefined();
    expect(summary(VIEW)).toBe("50% of 8 slots on average, at most 100% over 30 minutes");
    expect(summary({ ...VIEW, seconds: 10_800 })).toMatch(/over 3 hours$/);
    expect(summary({ ...VIEW, shares: [null] })).toBe("no data for this time");
  });

  it("names its intervals by local time", () => {
    expect(intervalWords(VIEW, 1)).toBe("2026-03-01 10:30 to 11:00");
    expect(intervalWords({ ...VIEW, since: local(23, 45) }, 0)).toBe("2026-03-01 23:45 to 2026-03-02 00:15");
    expect(shareWords(null)).toBe("unknown");
    expect(shareWords(0.431)).toBe("43%");
  });
});

describe("on the page of clusters", () => {
  it("is drawn, told in words, and in a table, the latest first", async () => {
    server.on("GET /clusters", { items: [cluster("hpc")] }).on("GET /clusters/*/tokens", { items: [] });
    server.on("GET /clusters/*/occupancy", VIEW);
    const { user } = openApp(server, "/clusters");
    const part = within(await screen.findByTestId("occupancy"));
    expect(await part.findByRole("img")).toHaveAccessibleName(/^Occupancy of hpc: 50% of 8 slots/);
    const rows = within(part.getByTestId("occupancy-table")).getAllByRole("row", { hidden: true });
    expect(rows.slice(1).map((row) => row.lastChild?.textContent)).toEqual(["100%", "50%", "0%", "unknown"]);
    server.on("GET /clusters/*/occupancy", ({ query }) =>
      query.get("period") === "week" ? { ...VIEW, seconds: 10_800, shares: [0.25] } : VIEW,
    );
    await user.click(part.getByRole("radio", { name: "7 days" }));
    await waitFor(() =>
      expect(part.getByTestId("occupancy-summary")).toHaveTextContent("25% of 8 slots on average"),
    );
  });

  it("says where it could not be loaded, beside what can", async () => {
    server.on("GET /clusters", { items: [cluster("hpc")] }).on("GET /clusters/*/tokens", { items: [] });
    server.on("GET /clusters/*/occupancy", new Refusal(404, "no cluster is called 'hpc'"));
    openApp(server, "/clusters");
    expect(await screen.findByText(/The occupancy could not be loaded/)).toBeVisible();
    expect(screen.getByTestId("cluster-hpc")).toHaveTextContent("AMD EPYC");
  });
});
