import { describe, expect, it } from "vitest";
import { metricsOf } from "@/features/run/use-run";
import { axisTitle, formatAxisTick, formatAxisValue } from "@/lib/format/axes";
import {
  formatBytes,
  formatChosenPercent,
  formatNumber,
  formatPercent,
  formatPercentTick,
  formatRatio,
} from "@/lib/format/numbers";
import { accuracyLabel, formatMetric } from "@/lib/format/quantities";
import { formatAge, formatSeconds, formatSpan } from "@/lib/format/time";

describe("numbers", () => {
  it("have three significant digits", () => {
    expect([0, 3.1449, 1234.5, 0.00456, 123_456].map((value) => formatNumber(value))).toEqual([
      "0",
      "3.14",
      "1,235",
      "0.00456",
      "123,456",
    ]);
    expect(formatNumber(7.2e-6)).toBe("7.20e-6");
  });

  it("are a dash where they do not exist, never NaN", () => {
    for (const format of [formatNumber, formatPercent, formatBytes, formatRatio, formatSeconds]) {
      expect([null, undefined, Number.NaN].map((value) => format(value))).toEqual(["–", "–", "–"]);
    }
  });

  it("are not rounded on an axis", () => {
    expect([0.9, 0.925, 1].map(formatPercentTick)).toEqual(["90%", "92.5%", "100%"]);
  });

  it("are shown as chosen, where somebody chose them", () => {
    expect([0.97, 0.9999, 0.988, 1].map(formatChosenPercent)).toEqual(["97%", "99.99%", "98.8%", "100%"]);
  });

  it("beside 1 are not written as 1", () => {
    expect([1.0012, 0.9997, 1.0000001, 1, 1.2].map(formatRatio)).toEqual([
      "1.001×",
      "0.9997×",
      "1.00000×",
      "1.00×",
      "1.20×",
    ]);
  });

  it("carry their unit", () => {
    expect(formatPercent(0.9528)).toBe("95.3%");
    expect(formatBytes(281_000_000)).toBe("281 MB");
    expect(formatBytes(999)).toBe("999 B");
    expect(formatRatio(2.134)).toBe("2.13×");
    expect(formatRatio(21.34)).toBe("21.3×");
  });
});

describe("durations", () => {
  it("take the unit that suits them", () => {
    expect([7.2e-6, 0.0475, 2.56, 59.99, 125, 3840].map(formatSeconds)).toEqual([
      "7.2 µs",
      "47.5 ms",
      "2.56 s",
      "60 s",
      "2 min 05 s",
      "1 h 04 min",
    ]);
  });

  it("say how long ago", () => {
    const then = "2026-01-01T00:00:00Z";
    const at = (seconds: number) => formatAge(then, Date.parse(then) + seconds * 1000);
    expect([-5, 3, 42, 90, 7200, 200_000].map(at)).toEqual([
      "just now",
      "just now",
      "42 s ago",
      "1 min ago",
      "2 h ago",
      "2 d ago",
    ]);
  });
});

describe("axes", () => {
  it("always call virtual seconds virtual", () => {
    expect(axisTitle("clock", true)).toBe("Train clock (virtual s)");
    expect(axisTitle("wall", false)).toBe("Wall time (s)");
    expect(axisTitle("samples", true)).toBe("Samples");
  });

  it("format values and ticks in their unit", () => {
    expect(formatAxisValue("bytes", 2e6)).toBe("2 MB");
    expect(formatAxisValue("samples", 120_000)).toBe("120,000");
    expect(formatAxisTick("samples", 120_000)).toBe("120K");
    expect(formatAxisTick("clock", 2.5)).toBe("2.5");
  });
});

it("says of which part of the data a figure is", () => {
  expect(accuracyLabel("validation")).toBe("Validation accuracy");
  expect(accuracyLabel(null)).toBe("Validation accuracy");
  expect(accuracyLabel("test")).toBe("Test accuracy, no validation part");
  expect(metricsOf("test").filter((metric) => metric.startsWith("validation_"))).toEqual([]);
  expect(metricsOf("validation").filter((metric) => metric.startsWith("test_"))).toEqual([]);
  expect(formatMetric("validation_accuracy", 0.5)).toBe(formatMetric("test_accuracy", 0.5));
});

describe("formatSpan", () => {
  const now = new Date(2026, 10, 24, 12, 0).getTime();
  const at = (...moment: [number, number, number, number]) => new Date(...moment).toISOString();

  it("has the day where it is not today, and the year where it is another", () => {
    const earliest = at(2026, 10, 24, 13);
    const span = (latest: string) => formatSpan({ at: at(2026, 10, 24, 14), earliest, latest }, now);
    expect(span(at(2026, 10, 24, 15))).toBe("about 14:00 (13:00 to 15:00)");
    expect(span(at(2026, 10, 25, 15))).toBe("about 14:00 (13:00 to 11-25 15:00)");
    expect(span(at(2027, 10, 25, 15))).toBe("about 14:00 (13:00 to 2027-11-25 15:00)");
  });
});
