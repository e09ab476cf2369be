/** The messages that a fitted line counts, against schedules that are played out round by round. */
import { describe, expect, it } from "vitest";
import { critical, grouped } from "@/features/calibration/curves";
import type { Calibration, Curve } from "@/lib/client/types.gen";

const curve = (kind: Curve["kind"], collective: Curve["collective"] = null): Curve => ({
  kind,
  collective,
  line: null,
  points: [],
});

/** Messages and bytes of the rounds in which rank 0 takes part, one after the other. */
interface Rounds {
  messages: number;
  size: number;
}

/** A binomial tree to rank 0 and back: in each round the active ranks pair up, and half of them drop out. */
function tree(ranks: number, bytes: number): Rounds {
  let messages = 0;
  for (let active = ranks; active > 1; active /= 2) messages += 2; // one up, and later one down
  return { messages, size: messages * bytes };
}

/** Recursive halving and doubling: partners exchange half of what they still hold, then double it again. */
function halving(ranks: number, bytes: number): Rounds {
  const sent: number[] = [];
  let held = bytes;
  for (let distance = ranks / 2; distance >= 1; distance /= 2) {
    held /= 2;
    sent.push(held);
  }
  const back = [...sent].reverse();
  return { messages: sent.length + back.length, size: [...sent, ...back].reduce((sum, one) => sum + one, 0) };
}

/** A ring: every rank passes a piece to the next one until all are summed, then until all have all sums. */
function ring(ranks: number, bytes: number): Rounds {
  const pieces = Array.from({ length: ranks }, () => new Set<number>());
  for (let rank = 0; rank < ranks; rank += 1) pieces[rank]?.add(rank);
  let rounds = 0;
  const passOn = () => {
    rounds += 1;
    const before = pieces.map((one) => new Set(one));
    for (let rank = 0; rank < ranks; rank += 1) {
      for (const piece of before[(rank + ranks - 1) % ranks] ?? []) pieces[rank]?.add(piece);
    }
  };
  while (pieces.some((one) => one.size < ranks)) passOn();
  return { messages: 2 * rounds, size: (2 * rounds * bytes) / ranks };
}

/** An all-gather by doubling, for powers of two: what a rank holds doubles in each round. */
function doubling(ranks: number, bytes: number): Rounds {
  let [messages, size] = [0, 0];
  for (let held = bytes / ranks; held < bytes; held *= 2) {
    messages += 1;
    size += held;
  }
  return { messages, size };
}

describe("what a fitted line counts", () => {
  const bytes = 1_048_576;

  it.each([2, 4, 8, 16, 64])("is that of every schedule with %i ranks", (ranks) => {
    const played = {
      tree: tree(ranks, bytes),
      halving: halving(ranks, bytes),
      ring: ring(ranks, bytes),
    };
    for (const collective of ["tree", "halving", "ring"] as const) {
      for (const kind of ["all-reduce", "background"] as const) {
        expect(critical(curve(kind, collective), ranks, bytes), `${kind}, ${collective}`).toEqual(
          played[collective],
        );
      }
    }
    expect(critical(curve("all-gather"), ranks, bytes)).toEqual(doubling(ranks, bytes));
  });

  it.each([3, 5, 6, 7])(
    "with %i ranks has a ring of as many pieces, and two messages beside the rest",
    (ranks) => {
      expect(critical(curve("all-reduce", "ring"), ranks, bytes)).toEqual(ring(ranks, bytes));
      const whole = ranks > 4 ? 4 : 2;
      for (const [collective, schedule] of [
        ["tree", tree],
        ["halving", halving],
      ] as const) {
        const inside = schedule(whole, bytes);
        expect(critical(curve("all-reduce", collective), ranks, bytes)).toEqual({
          messages: inside.messages + 2,
          size: inside.size + 2 * bytes,
        });
      }
    },
  );

  it("is one message where only two ranks take part", () => {
    for (const kind of ["message", "stream"] as const) {
      expect(critical(curve(kind), 8, bytes)).toEqual({ messages: 1, size: bytes });
    }
  });
});

describe("the charts of a calibration", () => {
  it("hold every curve once", () => {
    const curves = [
      curve("message"),
      curve("stream"),
      curve("all-reduce", "tree"),
      curve("background", "ring"),
      curve("all-gather"),
      curve("copy"),
    ];
    const { messages, memory, together } = grouped({ curves } as unknown as Calibration);
    expect(messages.map(({ kind }) => kind)).toEqual(["message", "stream"]);
    expect(together.map(({ kind }) => kind)).toEqual(["all-reduce", "background", "all-gather"]);
    expect(memory.map(({ kind }) => kind)).toEqual(["copy"]);
    expect(messages.length + memory.length + together.length).toBe(curves.length);
  });
});
