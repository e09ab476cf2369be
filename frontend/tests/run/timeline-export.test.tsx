import { expect, it } from "vitest";
import { timelineSheet, timelineSvg } from "@/features/run/timeline-export";
import { readBy } from "@/features/run/timeline-reading";
import { merged, timeline } from "../support/fixtures/timeline";

const messages = {
  sender: [0, 1],
  receiver: [1, 0],
  sent: [0.5, 1.5],
  received: [0.6, 1.7],
  bytes: [8, 16],
  left_out: 0,
};

it("the table has the phases and messages of the part in view, and says how many more there are", () => {
  const { rows } = timelineSheet(timeline({ messages }), [0, 0.9]);
  expect(rows).toEqual([
    ["rank 0", "compute", "0", "0.4", ""],
    ["rank 1", "compute", "0", "0.8", ""],
    ["rank 0", "communicate (all-reduce)", "0.4", "1", ""],
    ["rank 1", "communicate (all-reduce)", "0.8", "1", ""],
    ["rank 0 to 1", "message", "0.5", "0.6", "8"],
  ]);
  const few = timelineSheet(timeline({ messages }), [0, 2], 3).rows;
  expect(few).toHaveLength(4);
  expect(few[3]?.[0]).toBe("7 more: zoom in to have them");
  expect(timelineSheet(merged(), [0, 1]).rows[0]).toEqual(["rank 0", "compute, 40.0%", "0", "1", ""]);
});

it("the picture has a box for each phase and a line for each message", () => {
  const { svg } = timelineSvg(timeline({ messages }), [0, 2], "Timeline of run 7");
  expect(svg.match(/<rect /g)).toHaveLength(1 + 8 + 6); // ground, phases, key
  expect(svg.match(/<line /g)).toHaveLength(2);
  expect(svg).toContain(">Timeline of run 7</text>");
});

it("keys read one phase after the other, and the same time of other ranks", () => {
  const answer = timeline();
  const go = (...keys: string[]) =>
    keys.reduce<ReturnType<typeof readBy>>((now, key) => readBy(key, answer, [0, 2], now), undefined);
  expect(go(".")).toEqual({ position: 0, time: 1 });
  expect(go(".", ".")?.time).toBeCloseTo(1.7); // from 1.4 to 2
  expect(go(".", ",")?.time).toBeCloseTo(0.7); // from 0.4 to 1
  expect(go(".", ",", ",", ",", ",")?.time).toBeCloseTo(0.2);
  expect(go(".", "]", "]")).toEqual({ position: 1, time: 1 });
  expect(go(".", "[")?.position).toBe(0);
  expect(readBy("x", answer, [0, 2], undefined)).toBeUndefined();
  expect(readBy(".", merged(), [0, 2], { position: 1, time: 0.1 })?.time).toBe(1.5);
});
