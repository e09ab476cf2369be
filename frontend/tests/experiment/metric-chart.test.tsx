import { screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { SeedCurve } from "@/features/experiment/band-series";
import { MetricChart } from "@/features/experiment/metric-chart";
import type { BandAnswer } from "@/lib/client/types.gen";
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
  const answer = { axis: "clock" } as BandAnswer;
  show(
    <MetricChart
      metric="validation_accuracy"
      answer={answer}
      bands={[{ band: BAND, seeds }]}
      experiment={experiment()}
      group={undefined}
      close={false}
      log={false}
      show={undefined}
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

  it("has ticks where seeds were evaluated, one path for each seed", async () => {
    const image = await chart();
    const ticks = strokes(image, `${STYLE.light}99`);
    expect(ticks.map(({ points }) => points.length / 2)).toEqual([3, 3]);
  });

  it.each([
    ["clock", 1],
    ["samples", 0],
  ] as const)("over the axis %s has %i dots where runs met the target", async (axis, count) => {
    const image = await chart({ answer: { axis } as BandAnswer });
    const dots = drawnIn(image).filter(({ kind, style }) => kind === "fill" && style === STYLE.light);
    expect(dots).toHaveLength(count);
  });
});
