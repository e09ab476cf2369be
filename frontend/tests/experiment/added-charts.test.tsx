/** Charts that somebody adds: any metric over any axis, also what a workload reports beside accuracy and loss. */
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { followsSteps } from "@/features/experiment/added-charts";
import { experimentSearch } from "@/features/experiment/search";
import { addressOf, chartsIn, choicesOf } from "@/lib/charts/added-charts";
import { furtherOf } from "@/lib/charts/added-names";
import { chartLook } from "@/lib/charts/chart-look";
import type { FurtherMetricView } from "@/lib/client/types.gen";
import { band, experiment } from "../support/fixtures/experiment";
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
    expect(chartLook("p_at_3", ITEMS[0])).toMatchObject({ title: "P@3", share: true, better: "higher" });
    expect(chartLook("p_at_3", ITEMS[0]).format(0.25)).toBe("25.00%");
    const bucket = chartLook("bucket_largest", ITEMS[1]);
    expect(bucket).toMatchObject({ title: "Largest bucket", share: false, better: null });
    expect(bucket.format(128)).toBe("128 labels");
  });

  it("is its name where nothing declares it", () => {
    expect(chartLook("unknown")).toMatchObject({ title: "unknown", share: false, better: null });
  });

  it("of a metric of all runs is as before", () => {
    expect(chartLook("validation_accuracy")).toMatchObject({ share: true, better: "higher" });
    expect(chartLook("validation_loss")).toMatchObject({ share: false, better: "lower" });
  });

  it("of steps knows which end is the better one, and its scale", () => {
    expect(chartLook("throughput")).toMatchObject({ better: "higher", unit: " samples/s" });
    expect(chartLook("communication_fraction")).toMatchObject({ share: true, better: "lower" });
    expect(chartLook("bytes_sent").tick(2.5e6)).toBe("2.5 MB");
    expect(chartLook("staleness").tick(0.25)).toBe("0.25");
  });
});

describe("the address", () => {
  it("holds metrics, each with its axis if it has one of its own, and nothing that cannot be one", () => {
    expect(furtherOf("p_at_3.train_loss-samples")).toEqual(["p_at_3", "train_loss-samples"]);
    expect(furtherOf("P@3..9x.a-b-c")).toEqual([]);
    expect(experimentSearch({ more: "P@3" }).more).toBeUndefined();
    expect(experimentSearch({ more: "p_at_3" }).more).toBe("p_at_3");
    const charts = chartsIn("p_at_3.train_loss-samples.staleness-moons");
    expect(charts).toEqual([
      { metric: "p_at_3", axis: undefined },
      { metric: "train_loss", axis: "samples" },
      { metric: "staleness", axis: undefined },
    ]);
    expect(addressOf(charts)).toBe("p_at_3.train_loss-samples.staleness");
    expect(addressOf([])).toBeUndefined();
  });

  it("tells charts that grow with every step", () => {
    expect(followsSteps({ more: "p_at_3" })).toBe(false);
    expect(followsSteps({ more: "p_at_3.staleness" })).toBe(true);
    expect(followsSteps({ more: "p_at_3-bytes" })).toBe(true);
    expect(followsSteps({ more: "p_at_3", axis: "bytes" })).toBe(true);
    expect(followsSteps({ axis: "bytes" })).toBe(false);
  });
});

it("every metric can be chosen: of evaluations, of steps, and of the workload", () => {
  const [all, own] = choicesOf(["test_accuracy"], ITEMS);
  expect(all?.items.map(({ value }) => value)).toEqual([
    ...["test_accuracy", "train_loss", "communication_fraction", "throughput", "staleness", "bytes_sent"],
  ]);
  expect(own?.items).toEqual([
    { value: "p_at_3", label: "P@3" },
    { value: "bucket_largest", label: "Largest bucket" },
  ]);
  expect(choicesOf([], [])).toHaveLength(1);
});

describe("the curves of an experiment", () => {
  const server = apiServer();
  beforeEach(() => {
    answerExperiment(server);
    server.on("GET /experiments/*/metrics", { items: ITEMS }).on("GET /experiments/*/bands", ({ query }) => {
      const axis = (query.get("axis") ?? "clock") as "clock";
      const metrics = query.getAll("metric");
      const more = ["p_at_3", "train_loss", "staleness"].map((metric) =>
        band("Sync EASGD", { metric, mean: [0.1, 0.2, 0.3] }),
      );
      const all = [...bands().bands, ...more];
      return bands({ axis, bands: all.filter(({ metric }) => metrics.includes(metric)) });
    });
  });
  const asked = () => server.askedFor("GET /experiments/*/bands").map(({ query }) => query);
  const image = (metric: string) => within(screen.getByTestId(`chart-${metric}`)).getByRole("img");

  it("get a chart of a metric that is chosen, over the axis of the page, and the address keeps it", async () => {
    const { user, address } = await openExperiment(server);
    await user.click(screen.getByRole("combobox", { name: "Add a chart" }));
    await user.click(await screen.findByRole("option", { name: "P@3" }));
    await waitFor(() => expect(address()).toBe("/experiments/exp_7?more=p_at_3"));
    await screen.findByTestId("chart-p_at_3");
    await waitFor(() => expect(image("p_at_3")).toHaveAccessibleName("P@3. Sync EASGD 30.00% at 3 s."));
    expect(asked().at(-1)?.getAll("metric")).toEqual(["p_at_3"]); // what there was is not asked for again
  });

  it("run over epochs where the number of training items is known, without another request", async () => {
    server.on("GET /experiments/*", experiment({ training_items: 2 }));
    const { user, address } = await openExperiment(server, "/experiments/exp_7?axis=samples");
    const samples = image("validation_accuracy").getAttribute("aria-label");
    expect(samples).toMatch(/ at 3/);
    const before = asked().length;
    await user.click(screen.getByRole("radio", { name: "Epochs" }));
    await waitFor(() => expect(address()).toBe("/experiments/exp_7?axis=epochs"));
    await waitFor(() =>
      expect(image("validation_accuracy")).toHaveAccessibleName(samples?.replaceAll(" at 3", " at 1.5")),
    );
    expect(asked()).toHaveLength(before);
    expect(asked().at(-1)?.get("axis")).toBe("samples");
  });

  it("have charts over axes of their own, which are changed and taken away", async () => {
    const { user, address } = await openExperiment(
      server,
      "/experiments/exp_7?more=train_loss-samples.p_at_3",
    );
    await waitFor(() =>
      expect(image("train_loss")).toHaveAccessibleName("Training loss. Sync EASGD 0.3 at 3."),
    );
    expect(image("validation_accuracy")).toHaveAccessibleName(/at 3 s/);
    const [axis] = screen.getAllByRole("combobox", { name: "Axis of this chart" });
    expect(axis).toHaveDisplayValue("Samples");
    await user.selectOptions(axis as HTMLElement, "Bytes sent");
    await waitFor(() => expect(address()).toBe("/experiments/exp_7?more=train_loss-bytes.p_at_3"));
    await waitFor(() => expect(asked().at(-1)?.get("axis")).toBe("bytes"));
    const [metric] = screen.getAllByRole("combobox", { name: "Metric" });
    await user.selectOptions(metric as HTMLElement, "Staleness");
    await waitFor(() => expect(address()).toBe("/experiments/exp_7?more=staleness-bytes.p_at_3"));
    await waitFor(() => expect(image("staleness")).toHaveAccessibleName("Staleness. Sync EASGD 0.3 at 3 B."));
    const [remove] = screen.getAllByRole("button", { name: "Remove this chart" });
    await user.click(remove as HTMLElement);
    await waitFor(() => expect(address()).toBe("/experiments/exp_7?more=p_at_3"));
    expect(screen.queryByTestId("chart-staleness")).toBeNull();
  });

  it("can be smoothed by any amount, as all others, and the address says so", async () => {
    const { router } = await openExperiment(server, "/experiments/exp_7?more=train_loss");
    await waitFor(() => expect(image("train_loss")).toHaveAccessibleName(/Sync EASGD 0.3 at 3 s/));
    expect(screen.getByRole("slider", { name: "Smooth" })).toHaveAttribute("aria-valuetext", "off");
    fireEvent.change(screen.getByRole("slider", { name: "Smooth" }), { target: { value: "12" } });
    await waitFor(() => expect(image("train_loss")).toHaveAccessibleName(/Sync EASGD, averaged 0.3 at 3 s/));
    expect(router.state.location.search).toMatchObject({ more: "train_loss", smooth: 12 });
    expect(image("validation_accuracy")).toHaveAccessibleName(/Sync EASGD, averaged 95.00%/);
  });

  it("hide a variant in every chart, from the table of any", async () => {
    const { user, router } = await openExperiment(server, "/experiments/exp_7?more=p_at_3");
    await waitFor(() => expect(image("p_at_3")).toHaveAccessibleName(/Sync EASGD/));
    const table = within(await screen.findByRole("toolbar", { name: "Variants of P@3" }));
    await user.click(table.getByRole("button", { name: "Sync EASGD" }));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ hide: "1", more: "p_at_3" }));
    expect(image("validation_accuracy")).toHaveAccessibleName(
      "Validation accuracy. Original EASGD 90.00% at 3 s.",
    );
    expect(image("p_at_3")).toHaveAccessibleName("P@3. No points yet.");
  });
});
