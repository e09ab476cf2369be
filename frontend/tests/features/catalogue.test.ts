import { expect, it } from "vitest";
import { groupOf, payloadOf } from "@/features/new-experiment/algorithm-picker";
import { meaningless } from "@/features/new-experiment/variant-card";
import { barsOf } from "@/features/run/staleness";
import type { AlgorithmView } from "@/lib/client/types.gen";

const method = (family: string, origin = "built-in", payload: number | null = 1) =>
  ({ name: "m", family, origin, payload_per_step: payload }) as AlgorithmView;

it("groups methods by the family that they declare, and a user's own apart", () => {
  expect(groupOf(method("Local steps"))).toBe("Local steps");
  expect(groupOf(method("Gossip", "file"))).toBe("Your own");
});

it("says what a method moves per step, or that it does not declare it", () => {
  expect(payloadOf(method("Local steps", "built-in", 0.0833333))).toBe("0.0833 |W| per step");
  expect(payloadOf(method("Other", "file", null))).toBe("payload not declared");
});

it("hides what says nothing about how vectors travel", () => {
  expect(meaningless(undefined)).toEqual(["bucket_bytes", "error_feedback", "wire_share"]);
  expect(meaningless({ packing: "buckets", wire: "fp32" })).toEqual(["error_feedback", "wire_share"]);
  expect(meaningless({ packing: "one", wire: "bf16" })).toEqual(["bucket_bytes", "wire_share"]);
  expect(meaningless({ packing: "buckets", wire: "fp16" })).toEqual(["wire_share"]);
  expect(meaningless({ packing: "buckets", wire: "top-k" })).toEqual([]);
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
