import { describe, expect, it } from "vitest";
import { partsOf } from "@/features/experiment/band-series";
import { experimentSearch } from "@/features/experiment/search";
import { runSearch } from "@/features/run/search";
import { trainingItems } from "@/features/run/use-run";
import { askedAxis, bandInEpochs, drawnAxis, inEpochs } from "@/lib/charts/epochs";
import { axesOffered, axisTitle, formatAxisTick, formatAxisValue } from "@/lib/format/axes";
import { band } from "../support/fixtures/experiment";
import { run } from "../support/fixtures/run";

describe("epochs", () => {
  it("are samples over training items, which the server is asked for", () => {
    expect(askedAxis("epochs")).toBe("samples");
    expect(askedAxis("wall")).toBe("wall");
    expect(inEpochs([0, 647, 1294, 3882], 1294)).toEqual([0, 0.5, 1, 3]);
  });

  it("are drawn only of samples, and where the number of training items is known", () => {
    expect(drawnAxis("epochs", "samples", 1294)).toBe("epochs");
    expect(drawnAxis("epochs", "samples", null)).toBe("samples");
    expect(drawnAxis("epochs", "clock", 1294)).toBe("clock"); // the answer before
    expect(drawnAxis("samples", "samples", 1294)).toBe("samples");
  });

  it("are the same column until samples or items change", () => {
    const samples = [100, 200];
    expect(inEpochs(samples, 50)).toBe(inEpochs(samples, 50));
    expect(inEpochs(samples, 25)).toEqual([4, 8]);
  });

  it("of a band keep what is derived from it apart from that over samples", () => {
    const samples = band("Sync EASGD", { x: [100, 200, 300], mean: [0.1, 0.2, 0.3] });
    expect(partsOf(samples).end).toBe(300);
    const over = bandInEpochs(samples, 100);
    expect(over.x).toEqual([1, 2, 3]);
    expect(partsOf(over)).toMatchObject({ end: 3, mean: [0.1, 0.2, 0.3] });
    expect(bandInEpochs(samples, 100).mean).toBe(over.mean);
    expect(partsOf(bandInEpochs(samples, 50)).end).toBe(6);
  });

  it("have a title, values and ticks with their fractions", () => {
    expect(axisTitle("epochs", true)).toBe("Epochs");
    expect(formatAxisValue("epochs", 2.5)).toBe("2.5");
    expect(formatAxisTick("epochs", 0.5)).toBe("0.5");
    expect(formatAxisTick("samples", 20_000)).toBe("20K");
  });

  it("are offered where they are known, and kept by addresses", () => {
    expect(axesOffered(false)).toEqual(["clock", "wall", "samples", "step", "bytes"]);
    expect(axesOffered(true)).toContain("epochs");
    expect(experimentSearch({ axis: "epochs" }).axis).toBe("epochs");
    expect(runSearch({ axis: "epochs" }).axis).toBe("epochs");
  });
});

it("the number of training items is what the first rank of a run reported", () => {
  const made = run();
  const told = (notes: Record<string, string>) => made.phases.map((each) => ({ ...each, notes }));
  expect(trainingItems({ ...made, phases: told({ "training items": "1294" }) })).toBe(1294);
  expect(trainingItems({ ...made, phases: told({}) })).toBeUndefined();
  expect(trainingItems({ ...made, phases: [] })).toBeUndefined();
});
