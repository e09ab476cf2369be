import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { SeedCurve } from "@/features/experiment/band-series";
import { MetricChart } from "@/features/experiment/metric-chart";
import { variantStyle } from "@/lib/theme/palette";
import { frame, show } from "../support/app";
import { drawnIn } from "../support/canvas";
import { band, experiment } from "../support/fixtures/experiment";

const STYLE = variantStyle(1); // of "Sync EASGD"
const BAND = band("Sync EASGD", { x: [0, 1, 2, 3], mean: [0.1, 0.5, 0.8, 0.9], n: [2, 2, 2, 1] });
const curve = (run: string, seed: number, x: number[]): SeedCurve => ({
  run,
  seed,
  x,
  y: x.map((at) => at / 4),
});
const SEEDS = [curve("run_1", 0, [0, 1, 2]), curve("run_2", 1, [0, 1.5, 3])];

type Props = Parameters<typeof MetricChart>[0];

async function chart(changes: Partial<Props> = {}, seeds: readonly SeedCurve[] = SEEDS) {
  show(
    <MetricChart
      metric="validation_accuracy"
      axis="clock"
      bands={[{ band: BAND, seeds }]}
      experiment={experiment()}
      group={undefined}
      hidden={new Set()}
      toggle={() => undefined}
      close={false}
      log={false}
      show={undefined}
      smooth={undefined}
      crossings={[{ x: 1, style: STYLE }]}
      zoom={undefined}
      onZoom={() => undefined}
      {...changes}
    />,
  );
  await frame();
  return screen.getByRole("img");
}

const strokes = (image: HTMLElement, style: string) =>
  drawnIn(image).filter((mark) => mark.kind === "stroke" && mark.style === style);

describe("one metric of an experiment", () => {
  it("is the mean as far as all seeds go, and what goes on as a pale line", async () => {
    const image = await chart();
    const [mean] = strokes(image, STYLE.light);
    const [tail] = strokes(image, `${STYLE.light}80`);
    expect(mean?.points).toHaveLength(3);
    expect(tail?.points).toHaveLength(2); // from the evaluation before the mean's end to the seed's end
    expect(tail?.points.at(-1)?.[0]).toBeGreaterThan(mean?.points.at(-1)?.[0] ?? 0);
    expect(image).toHaveAccessibleName("Validation accuracy. Sync EASGD 80.00% at 2 s.");
  });

  it("is every seed from its beginning to its end when that is asked for", async () => {
    const image = await chart({ show: "each" });
    expect(strokes(image, STYLE.light)).toHaveLength(2);
    expect(image).toHaveAccessibleName(
      "Validation accuracy. Sync EASGD, seed 0 50.00% at 2 s; Sync EASGD, seed 1 75.00% at 3 s.",
    );
  });

  it("is the mean alone while its seeds are not known", async () => {
    const image = await chart({ show: "each" }, []);
    expect(strokes(image, STYLE.light)).toHaveLength(1);
    expect(strokes(image, `${STYLE.light}99`).flatMap(({ points }) => points)).toEqual([]);
  });

  it("has ticks where seeds were evaluated, one path for their colour, and one tick where two seeds were", async () => {
    const image = await chart();
    const ticks = strokes(image, `${STYLE.light}99`);
    expect(ticks.map(({ points }) => points.length / 2)).toEqual([5]);
  });

  it.each(["clock", "samples"] as const)(
    "over the axis %s has dots where runs met the target",
    async (axis) => {
      const image = await chart({ axis });
      const dots = drawnIn(image).filter(({ kind, style }) => kind === "fill" && style === STYLE.light);
      expect(dots).toHaveLength(1);
    },
  );
});

describe("a metric of steps", () => {
  it("has no ticks, no word of evaluations, and its own scale", async () => {
    const image = await chart({
      metric: "bytes_sent",
      bands: [{ band: { ...BAND, metric: "bytes_sent", mean: [1e6, 2e6, 3e6, 4e6] }, seeds: SEEDS }],
    });
    expect(strokes(image, `${STYLE.light}99`).flatMap(({ points }) => points)).toEqual([]);
    expect(screen.getByText("3 seeds")).toBeVisible();
    expect(image).toHaveAccessibleName("Bytes sent, all ranks. Sync EASGD 3 MB at 2 s.");
    expect(drawnIn(image).map(({ text }) => text)).toContain("2 MB");
  });

  it("is averaged before pale lines of what was measured, where that is asked for", async () => {
    const jagged = { ...BAND, metric: "train_loss", mean: [3, 0, 3, 0], n: [2, 2, 2, 2] };
    const bands = [{ band: jagged, seeds: [] }];
    const image = await chart({ metric: "train_loss", bands, smooth: 50 });
    const heights = (style: string) => strokes(image, style)[0]?.points.map(([, y]) => y) ?? [];
    const [pale, average] = [heights(`${STYLE.light}80`), heights(STYLE.light)];
    const share = (y: number) => ((pale[1] ?? 0) - y) / ((pale[1] ?? 0) - (pale[0] ?? 0)); // of the way from 0 to 3
    expect(average).toHaveLength(4);
    for (const [at, value] of [3, 2, 1, 0].entries())
      expect(share(average[at] ?? 0) * 3).toBeCloseTo(value, 1);
    expect(image).toHaveAccessibleName("Training loss. Sync EASGD, averaged 0 at 3 s.");
    const [cells] = screen
      .getAllByTestId("legend-row")
      .filter((row) => within(row).queryByText("Sync EASGD"));
    expect(cells?.querySelector("td")).toHaveTextContent("0"); // the table has what was measured
  });

  it("of evaluations is averaged, too, and what goes on from there stays pale", async () => {
    const image = await chart({ smooth: 20 });
    expect(image).toHaveAccessibleName("Validation accuracy. Sync EASGD, averaged 80.00% at 2 s.");
    expect(strokes(image, `${STYLE.light}80`).length).toBeGreaterThan(1);
  });

  it("waits for a step", async () => {
    await chart({ metric: "train_loss", bands: [] });
    expect(screen.getByText("No step yet")).toBeVisible();
  });
});

describe("the table of a chart", () => {
  const line = (name: string) => {
    const found = screen.getAllByTestId("legend-row").find((each) => within(each).queryByText(name));
    return [...(found as HTMLElement).querySelectorAll("td")].map((cell) => cell.textContent);
  };
  const head = () => screen.getAllByRole("columnheader").map((cell) => cell.textContent);

  it("has the last values, and those at the pointer while it is there", async () => {
    const three = band("Sync EASGD");
    const image = await chart({ bands: [{ band: three, seeds: [] }] });
    expect(head()).toEqual(["Last values", "Mean", "95% interval", "Seeds"]);
    expect(line("Sync EASGD")).toEqual(["95.00%", "94.00% to 96.00%", "3"]);
    expect(line("Hogwild EASGD")).toEqual(["–", "", ""]);
    const over = image.querySelector(".u-over") as HTMLElement;
    fireEvent.mouseEnter(over, { clientX: 10, clientY: 20 });
    fireEvent.mouseMove(over, { clientX: 10, clientY: 20 });
    await waitFor(() => expect(head()[0]).toBe("At 1 s"));
    expect(line("Sync EASGD")).toEqual(["50.00%", "40.00% to 60.00%", "3"]);
    expect(over.querySelector("small, b")).toBeNull(); // the table is in place of a box
    fireEvent.mouseLeave(over);
    await waitFor(() => expect(head()[0]).toBe("Last values"));
  });

  it("has those where arrows lead while the focus is on the chart", async () => {
    const image = await chart({ bands: [{ band: band("Sync EASGD"), seeds: [] }] });
    act(() => image.focus());
    for (const [key, at, value] of [
      ["ArrowLeft", "At 3 s", "95.00%"],
      ["ArrowLeft", "At 2 s", "80.00%"],
      ["Home", "At 1 s", "50.00%"],
      ["ArrowLeft", "At 1 s", "50.00%"],
      ["End", "At 3 s", "95.00%"],
    ] as const) {
      fireEvent.keyDown(image, { key });
      await waitFor(() => expect(head()[0]).toBe(at));
      expect(line("Sync EASGD")[0]).toBe(value);
    }
    act(() => image.blur());
    await waitFor(() => expect(head()[0]).toBe("Last values"));
  });

  it("says where a mean has ended while a seed goes on", async () => {
    const image = await chart();
    act(() => image.focus());
    fireEvent.keyDown(image, { key: "End" });
    await waitFor(() => expect(head()[0]).toBe("At 3 s"));
    expect(line("Sync EASGD")).toEqual(["–", "ended", ""]);
    expect(line("Hogwild EASGD")).toEqual(["–", "", ""]);
  });

  it("shows and hides a variant, which then has no values", async () => {
    const pressed: number[] = [];
    await chart({
      bands: [{ band: band("Sync EASGD"), seeds: [] }],
      hidden: new Set([1]),
      toggle: (index) => pressed.push(index),
    });
    expect(line("Sync EASGD")).toEqual(["–", "", ""]);
    const button = screen.getByRole("button", { name: "Sync EASGD" });
    expect(button).toHaveAttribute("aria-pressed", "false");
    fireEvent.click(button);
    expect(pressed).toEqual([1]);
  });

  it("has medians where these are drawn", async () => {
    const seeds = [curve("run_1", 0, [0, 1, 2]), curve("run_2", 1, [0, 2])];
    await chart({ show: "median", bands: [{ band: { ...BAND, n: [2, 2, 2, 0] }, seeds }] });
    expect(head().slice(1, 3)).toEqual(["Median", "Min to max"]);
    expect(line("Sync EASGD")).toEqual(["50.00%", "50.00% to 50.00%", "2"]);
  });
});
