import { describe, expect, it } from "vitest";
import { linearTicks } from "@/lib/charts/space-scale";
import { apart, tickTexts } from "@/lib/charts/tick-texts";
import {
  formatBytes,
  formatCompact,
  formatCount,
  formatNumber,
  formatPercentTick,
} from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";

/** Numbers in [0, 1) that are the same at every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const UNITS: Record<string, number> = {
  ...{ "%": 0.01, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15 },
  ...{ K: 1e3, M: 1e6, B: 1e9, T: 1e12 },
};

/** What a reader takes a text for. */
function read(text: string, isBytes: boolean): number {
  const [, number = "", unit = ""] = /^(-?[0-9.,e-]+) ?(.*)$/.exec(text) ?? [];
  const scale = isBytes && unit === "B" ? 1 : (UNITS[unit] ?? 1);
  return Number(number.replaceAll(",", "")) * scale;
}

const FORMATS: Record<string, (value: number) => string> = {
  number: (value) => formatNumber(value),
  percent: formatPercentTick,
  compact: formatCompact,
  bytes: (value) => formatBytes(value),
};

describe("ticks of an axis", () => {
  it.each(Object.keys(FORMATS))("as %s never say the same twice, and say what they are", (name) => {
    const random = numbers(7);
    const format = FORMATS[name] as (value: number) => string;
    let finer = 0;
    for (let n = 0; n < 3000; n += 1) {
      const low = 10 ** (random() * 9 - (name === "compact" ? 1 : 3));
      const ticks = linearTicks(low, low * (1 + 10 ** (random() * 7 - 7)), 2 + Math.floor(random() * 7));
      const texts = tickTexts(ticks, format);
      if (ticks.length < 2) continue;
      const step = (ticks[1] ?? 0) - (ticks[0] ?? 0);
      if (texts.some((text, i) => text !== format(ticks[i] as number))) finer += 1;
      expect(new Set(texts).size, `${texts}`).toBe(ticks.length);
      for (const [i, text] of texts.entries())
        expect(
          Math.abs(read(text, name === "bytes") - (ticks[i] as number)),
          `${text} of ${ticks}`,
        ).toBeLessThan(step / 10);
    }
    expect(finer, "no axis needed more digits").toBeGreaterThan(100);
  });

  it.each([
    [[0.9301, 0.9302, 0.9303], formatPercentTick, ["93.01%", "93.02%", "93.03%"]],
    [[1_020_000, 1_020_500, 1_021_000], formatBytes, ["1.02 MB", "1.0205 MB", "1.021 MB"]],
    [[-1.0004, 0, 1.0004], formatNumber, ["-1", "0", "1"]],
    [[12_340, 12_350], formatCompact, ["12.34K", "12.35K"]],
    [[0.005_8, 0.005_805, 0.005_81], formatPercentTick, ["0.58%", "0.5805%", "0.581%"]],
    [[1, 2, 5], formatNumber, ["1", "2", "5"]],
  ])("%j", (ticks, format, texts) => {
    expect(tickTexts(ticks, (value) => format(value))).toEqual(texts);
  });

  it("that words would say twice are said once", () => {
    expect(tickTexts([3600.1, 3600.2, 3600.3], formatSeconds).filter(Boolean)).toHaveLength(1);
    expect(tickTexts([0.1, 0.2, 1.2], formatCount)).toEqual(["0", "", "1"]);
    expect(tickTexts([1, null, 1.0001], formatNumber)).toEqual(["1", "", "1.0001"]);
  });
});

it("of chosen marks those are numbered that are in view and do not touch", () => {
  const plot = { valToPos: (value: number) => value * 10 };
  expect(apart(plot, [1, 2, 4, 8, 16], 1, 16)).toEqual([1, 4, 8, 16]);
  expect(apart(plot, [1, 2, 4, 8, 16], 3, 9)).toEqual([4, 8]);
  expect(apart(plot, [1, 2], 3, 9)).toEqual([]);
});
