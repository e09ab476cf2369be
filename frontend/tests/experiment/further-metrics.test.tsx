/** Metrics that a workload reports beside accuracy and loss. */
import { screen, waitFor } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { experimentSearch, furtherOf } from "@/features/experiment/search";
import type { FurtherMetricView } from "@/lib/client/types.gen";
import { lookOf } from "@/lib/format/quantities";
import { band } from "../support/fixtures/experiment";
import { apiServer } from "../support/server";
import { answerExperiment, bands, openExperiment } from "./page";

const declared = (changes: Partial<FurtherMetricView>): FurtherMetricView => ({
  name: "p_at_3",
  title: "P@3",
  unit: "share",
  description: "Precision at 3.",
  better: "higher",
  measured: false,
  ...changes,
});
const ITEMS = [
  declared({}),
  declared({ name: "bucket_largest", title: "Largest bucket", unit: "labels", better: null }),
];

describe("the look of a further metric", () => {
  it("has percent for a share, and the unit otherwise", () => {
    expect(lookOf("p_at_3", ITEMS[0])).toMatchObject({ title: "P@3", share: true, better: "higher" });
    expect(lookOf("p_at_3", ITEMS[0]).format(0.25)).toBe("25.00%");
    const bucket = lookOf("bucket_largest", ITEMS[1]);
    expect(bucket).toMatchObject({ title: "Largest bucket", share: false, better: null });
    expect(bucket.format(128)).toBe("128 labels");
  });

  it("is its name where nothing declares it", () => {
    expect(lookOf("unknown")).toMatchObject({ title: "unknown", share: false, better: null });
  });

  it("of a metric of all runs is as before", () => {
    expect(lookOf("validation_accuracy")).toMatchObject({ share: true, better: "higher" });
    expect(lookOf("validation_loss")).toMatchObject({ share: false, better: "lower" });
  });
});

describe("the address", () => {
  it("holds names, and nothing that cannot be one", () => {
    expect(furtherOf("p_at_3.active_share")).toEqual(["p_at_3", "active_share"]);
    expect(furtherOf("P@3..9x")).toEqual([]);
    expect(experimentSearch({ more: "P@3" }).more).toBeUndefined();
    expect(experimentSearch({ more: "p_at_3" }).more).toBe("p_at_3");
  });
});

describe("the curves of an experiment", () => {
  const server = apiServer();
  beforeEach(() => answerExperiment(server));

  it("offer no choice where the workload has no further metrics", async () => {
    await openExperiment(server);
    expect(screen.queryByTestId("further-metrics")).toBeNull();
  });

  it("draw a further metric that is chosen, and the address keeps it", async () => {
    server
      .on("GET /experiments/*/metrics", { items: ITEMS })
      .on(
        "GET /experiments/*/bands",
        bands({ bands: [...bands().bands, band("Sync EASGD", { metric: "p_at_3", mean: [0.1, 0.2, 0.3] })] }),
      );
    const { user, address } = await openExperiment(server);
    await user.click(await screen.findByTestId("further-metrics"));
    await user.click(await screen.findByRole("option", { name: "P@3" }));
    await waitFor(() => expect(address()).toBe("/experiments/exp_7?more=p_at_3"));
    expect(await screen.findByTestId("chart-p_at_3")).toBeVisible();
    await waitFor(() =>
      expect(server.askedFor("GET /experiments/*/bands").at(-1)?.query.getAll("metric")).toContain("p_at_3"),
    );
  });
});
