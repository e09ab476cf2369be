import { describe, expect, it } from "vitest";
import {
  arrowsOf,
  boxesOf,
  frameOf,
  gatesOf,
  hitAt,
  phasesInView,
  roomFor,
  rowTop,
  sharesOf,
  sliceAt,
  timeAt,
  xOf,
} from "@/features/run/timeline-layout";
import { extentWords, hitWords, stragglerWords } from "@/features/run/timeline-words";
import { merged, rankTimeline, timeline } from "../support/fixtures/timeline";

const frame = frameOf(2, 906); // 96 px of names, 10 px at the right edge: 800 px of time
const ALL = [0, 2] as const;

describe("the frame", () => {
  it("has 800 px for the time, and a row for each rank", () => {
    expect(frame.right - frame.left).toBe(800);
    expect(rowTop(frame, 1) - rowTop(frame, 0)).toBe(frame.row + frame.gap);
    expect(frame.height).toBeGreaterThanOrEqual(rowTop(frame, 1) + frame.row);
  });

  it.each([1, 12, 13, 40, 41, 128, 129, 1024])("keeps %i ranks apart", (ranks) => {
    const found = frameOf(ranks, 906);
    expect(found.row).toBeGreaterThanOrEqual(5);
    expect(found.gap).toBeGreaterThanOrEqual(1);
  });

  it("puts times where they belong, and back", () => {
    expect(xOf(frame, ALL, 1)).toBe(frame.left + 400);
    expect(xOf(frame, [1, 2], 1.25)).toBe(frame.left + 200);
    expect(timeAt(frame, [1, 2], frame.left + 200)).toBeCloseTo(1.25, 12);
  });
});

describe("boxes", () => {
  it("of slices are as wide as they last", () => {
    const boxes = boxesOf(rankTimeline(1), 1, frame, ALL, timeline());
    expect(boxes.map((box) => [box.phase, box.x - frame.left, box.width])).toEqual([
      [1, 0, expect.closeTo(320, 9)],
      [3, expect.closeTo(320, 9), expect.closeTo(80, 9)],
      [1, 400, expect.closeTo(320, 9)],
      [3, expect.closeTo(720, 9), expect.closeTo(80, 9)],
    ]);
    expect(boxes.every((box) => box.y === rowTop(frame, 1) && box.height === frame.row)).toBe(true);
  });

  it("are cut at the edges, and left out behind them", () => {
    const boxes = boxesOf(rankTimeline(0), 0, frame, [0.2, 0.6], timeline());
    expect(boxes.map((box) => [box.phase, box.x - frame.left, box.width])).toEqual([
      [1, 0, expect.closeTo(400, 6)],
      [3, expect.closeTo(400, 6), expect.closeTo(400, 6)],
    ]);
  });

  it("of bins stand on one another, as high as their shares, and fill the row", () => {
    const answer = merged();
    const boxes = boxesOf(answer.ranks[0] ?? rankTimeline(0), 0, frame, ALL, answer);
    expect(boxes).toHaveLength(4);
    const [compute, communicate] = boxes;
    expect(compute?.height).toBeCloseTo(0.4 * frame.row, 9);
    expect(communicate?.height).toBeCloseTo(0.6 * frame.row, 9);
    expect(compute?.y).toBeCloseTo(rowTop(frame, 0) + 0.6 * frame.row, 9);
    expect(communicate?.y).toBeCloseTo(rowTop(frame, 0), 9);
    expect([compute?.width, boxes[2]?.x]).toEqual([400, frame.left + 400]);
  });
});

describe("arrows", () => {
  const messages = {
    sender: [0, 1],
    receiver: [1, 0],
    sent: [0.5, 1],
    received: [0.75, 1.5],
    bytes: [8, 9],
    left_out: 0,
  };

  it("lead from the sender's row when it sends to the receiver's when it has received", () => {
    const [down, up] = arrowsOf(timeline({ messages }), frame, ALL);
    expect(down?.from).toEqual([frame.left + 200, rowTop(frame, 0) + frame.row]);
    expect(down?.to).toEqual([frame.left + 300, rowTop(frame, 1)]);
    expect(up?.from).toEqual([frame.left + 400, rowTop(frame, 1)]);
    expect(up?.to).toEqual([frame.left + 600, rowTop(frame, 0) + frame.row]);
  });

  it("are not drawn where phases are merged, where there are too many, and to ranks without a trace", () => {
    expect(arrowsOf(merged({ messages }), frame, ALL)).toEqual([]);
    const many = Array.from({ length: roomFor(frame) + 1 }, () => 0);
    const crowd = { sender: many, receiver: many, sent: many, received: many, bytes: many, left_out: 0 };
    expect(arrowsOf(timeline({ messages: crowd }), frame, ALL)).toEqual([]);
    expect(arrowsOf(timeline({ messages: { ...messages, receiver: [7, 7] } }), frame, ALL)).toEqual([]);
  });

  it("has room for one mark in ten pixels", () => {
    expect(roomFor(frame)).toBe(80);
    const entered = Array.from({ length: 81 }, () => [0, 1]);
    const meetings = { ranks: [0, 1], last: entered.map(() => 1), entered };
    expect(gatesOf(timeline({ meetings }), frame, ALL)).toEqual([]);
    expect(extentWords(timeline({ meetings }), frame)).toContain(
      "81 collective operations: zoom in to see who",
    );
  });

  it("gates stand where the last rank entered, on its row", () => {
    expect(gatesOf(timeline(), frame, ALL)).toEqual([
      { x: expect.closeTo(frame.left + 320, 6), last: 1 },
      { x: expect.closeTo(frame.left + 720, 6), last: 1 },
    ]);
    expect(gatesOf(timeline(), frame, [0, 1])).toHaveLength(1);
    expect(gatesOf(merged(), frame, ALL)).toEqual([]);
  });
});

describe("the pointer", () => {
  const at = (time: number, row: number) =>
    [xOf(frame, ALL, time), rowTop(frame, row) + frame.row / 2] as const;

  it.each([
    [0, 0],
    [0.39, 0],
    [0.41, 1],
    [1.5, 3],
    [2, undefined],
    [-1, undefined],
  ])("at %d s is on slice %s", (time, index) => {
    expect(sliceAt(rankTimeline(0), time)).toBe(index);
  });

  it("finds slices and bins, and nothing beside the rows", () => {
    expect(hitAt(timeline(), frame, ALL, ...at(0.6, 0))).toMatchObject({ kind: "slice", index: 1 });
    expect(hitAt(merged(), frame, ALL, ...at(1.2, 1))).toMatchObject({
      kind: "bin",
      bin: 1,
      rank: { rank: 1 },
    });
    expect(hitAt(timeline(), frame, ALL, 10, at(0, 0)[1])).toBeUndefined();
    expect(hitAt(timeline(), frame, ALL, at(0.6, 0)[0], 3)).toBeUndefined();
    expect(hitAt(timeline(), frame, ALL, at(0.6, 0)[0], rowTop(frame, 0) + frame.row + 2)).toBeUndefined();
    expect(hitAt(timeline(), frame, ALL, at(0.6, 0)[0], rowTop(frame, 2) + 3)).toBeUndefined();
  });

  it("says phase, operation, duration with its unit, and step", () => {
    const slice = hitAt(timeline(), frame, ALL, ...at(0.6, 0));
    expect(slice && hitWords(slice, timeline())).toEqual([
      "rank 0 · communicate (all-reduce)",
      "600 ms · step 1 · from 400 ms",
    ]);
    expect(slice && hitWords(slice, timeline({ simulated: true }))[1]).toBe(
      "600 ms virtual · step 1 · from 400 ms",
    );
    const bin = hitAt(merged(), frame, ALL, ...at(1.2, 1));
    expect(bin && hitWords(bin, merged())).toEqual(["rank 1, 1 s from 1 s", "compute 80%, communicate 20%"]);
  });
});

describe("words", () => {
  it.each([
    [{}, "Rank 1 computed longest in 41 of 60 steps; the others waited 12% of the time for it."],
    [
      { waited: 0.004 },
      "Rank 1 computed longest in 41 of 60 steps; the others waited 0.4% of the time for it.",
    ],
    [{ waited: null }, "Rank 1 computed longest in 41 of 60 steps."],
    [
      { consistent: false, longest: 20 },
      "No single rank is the slowest: rank 1, the most awaited, computed longest in 20 of 60 steps; the others waited 12% of the time for it.",
    ],
    [
      { consistent: false, longest: 20, waited: null },
      "No single rank is the slowest: rank 1, the slowest most often, computed longest in 20 of 60 steps.",
    ],
  ])("of the straggler %j", (changes, expected) => {
    const found = { rank: 1, longest: 41, steps: 60, waited: 0.12, consistent: true, ...changes };
    expect(stragglerWords(found)).toBe(expected);
  });

  it("there are none where nobody waits", () => {
    expect(stragglerWords(null)).toBeUndefined();
    expect(stragglerWords(undefined)).toBeUndefined();
  });

  it.each([
    [timeline(), "the whole 2 s (measured); dashed: the last rank enters a collective operation, 2 in view"],
    [timeline({ start: 0.5, stop: 0.75 }), "250 ms from 500 ms of 2 s"],
    [merged(), "each column is 1 s, divided by the shares"],
    [timeline({ simulated: true }), "virtual seconds, simulated"],
    [timeline({ meetings: { ranks: [], last: [], entered: [] } }), "no message between two ranks in view"],
    [
      timeline({
        messages: { sender: [0], receiver: [1], sent: [0], received: [1], bytes: [2000], left_out: 0 },
      }),
      "1 messages of 2 kB as arrows",
    ],
    [
      timeline({ messages: { sender: [], receiver: [], sent: [], received: [], bytes: [], left_out: 5000 } }),
      "5,000 messages: zoom in to see them",
    ],
  ])("say what is in view", (answer, expected) => {
    expect(extentWords(answer, frame)).toContain(expected);
  });
});

it.each([timeline(), merged()])("shares of the window are the same from slices and from bins", (answer) => {
  const found = answer.ranks.map((rank) => sharesOf(rank, answer));
  expect(found[0]).toEqual([0, expect.closeTo(0.4, 9), 0, expect.closeTo(0.6, 9), 0, 0, 0]);
  expect(found[1]).toEqual([0, expect.closeTo(0.8, 9), 0, expect.closeTo(0.2, 9), 0, 0, 0]);
});

it("shares of a window count only what is in it", () => {
  const answer = timeline({ start: 0.2, stop: 0.6 });
  expect(sharesOf(rankTimeline(0), answer)).toEqual([
    0,
    expect.closeTo(0.5, 9),
    0,
    expect.closeTo(0.5, 9),
    0,
    0,
    0,
  ]);
  expect(sharesOf(rankTimeline(0, { began: [], ended: [], phase: [] }), answer)).toEqual([
    0, 0, 0, 0, 0, 0, 0,
  ]);
});

it("the phases in view have rebuild only where some rank builds tables in the window", () => {
  expect(phasesInView(timeline())).not.toContain("rebuild");
  const built = rankTimeline(0, { phase: [1, 2, 1, 3] }); // from 0.4 to 1 s
  const answer = timeline({ ranks: [built, rankTimeline(1)] });
  expect(phasesInView(answer)).toContain("rebuild");
  expect(phasesInView({ ...answer, start: 1.5, stop: 2 })).not.toContain("rebuild");
});
