import { expect, it } from "vitest";
import { groupOf } from "@/features/new-experiment/algorithm-picker";
import { meaningless } from "@/features/new-experiment/variants-section";
import { barsOf } from "@/features/run/staleness";
import type { AlgorithmView } from "@/lib/client/types.gen";

const method = (name: string, origin = "built-in") => ({ name, origin }) as AlgorithmView;

it("groups methods by what their workers exchange, and a user's own apart", () => {
  const names = ["hogwild-easgd", "eamsgd", "sma", "downpour", "powersgd", "post-local-sgd", "diloco"];
  expect(names.map((name) => groupOf(method(name)))).toEqual([
    "Elastic averaging",
    "Elastic averaging",
    "Elastic averaging",
    "Stochastic gradient descent",
    "Stochastic gradient descent",
    "Local steps",
    "Local steps",
  ]);
  expect(groupOf(method("my-easgd", "file"))).toBe("Your own");
});

it("hides what says nothing about how vectors travel", () => {
  expect(meaningless(undefined)).toEqual(["bucket_bytes", "error_feedback"]);
  expect(meaningless({ packing: "buckets", wire: "fp32" })).toEqual(["error_feedback"]);
  expect(meaningless({ packing: "one", wire: "bf16" })).toEqual(["bucket_bytes"]);
  expect(meaningless({ packing: "buckets", wire: "fp16" })).toEqual([]);
});

it("counts every exchange in exactly one bar", () => {
  expect(barsOf({})).toEqual([]);
  expect(barsOf({ "0": 5, "2": 1 })).toEqual([
    { label: "0", count: 5 },
    { label: "1", count: 0 },
    { label: "2", count: 1 },
  ]);
  const wide = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [String(i), i]));
  const bars = barsOf(wide, 24);
  expect(bars.length).toBeLessThanOrEqual(24);
  expect(bars[0]?.label).toBe("0–4");
  expect(bars.reduce((sum, bar) => sum + bar.count, 0)).toBe((100 * 101) / 2);
});
