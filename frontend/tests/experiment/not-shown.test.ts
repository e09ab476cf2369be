import { expect, it } from "vitest";
import { groupsOf } from "@/features/experiment/groups";
import { notShown } from "@/features/experiment/not-shown";
import type { Comparison, ComparisonRow, SpeedUp } from "@/lib/client/types.gen";
import { comparison, fastest, row, speedUp } from "../support/fixtures/experiment";

const USUAL = "anything beyond this workload, target, cluster and number of workers";
const claimed = (variant: string, claim: SpeedUp["claim"], changes: Partial<ComparisonRow> = {}) =>
  row(variant, { speed_up: speedUp({ claim }), ...changes });

function open(rows: ComparisonRow[], changes: Partial<Comparison> = {}): string[] {
  const said = comparison({ rows, fastest: [], ...changes });
  const [group] = groupsOf(said);
  return group ? notShown(group, said) : [];
}

const FIRST = fastest({ unseparated: ["Hogwild EASGD", "MSGD"], among: 3 });

it.each<[string, ComparisonRow[], Partial<Comparison>, string[]]>([
  ["a clear verdict", [claimed("Original EASGD", "baseline"), claimed("Sync EASGD", "faster")], {}, []],
  [
    "methods that are not told apart",
    [claimed("Sync EASGD", "faster")],
    { fastest: [FIRST] },
    ["which of Sync EASGD, Hogwild EASGD and MSGD is fastest"],
  ],
  ["those of another place", [claimed("Sync EASGD", "faster")], { fastest: [{ ...FIRST, workers: 8 }] }, []],
  [
    "an interval with 1 in it",
    [claimed("Sync EASGD", "not shown")],
    {},
    ["whether Sync EASGD is faster or slower than Original EASGD"],
  ],
  [
    "two of them",
    [claimed("Sync EASGD", "not shown"), claimed("MSGD", "not shown")],
    {},
    ["whether Sync EASGD and MSGD are faster or slower than Original EASGD"],
  ],
  [
    "bounds",
    [claimed("Sync EASGD", "at least"), claimed("MSGD", "at most")],
    {},
    ["how far beyond their bounds Sync EASGD and MSGD lie"],
  ],
  [
    "what is claimed nothing of",
    [claimed("Sync EASGD", "no claim")],
    {},
    ["how Sync EASGD compares with Original EASGD"],
  ],
  [
    "very many of them",
    ["A", "B", "C", "D", "E"].map((name) => claimed(name, "no claim")),
    {},
    ["how 5 variants compare with Original EASGD"],
  ],
  [
    "simulated seconds, on too few cores, beside other runs",
    [claimed("Sync EASGD", "faster", { simulated: true, oversubscribed: true, overlapped: 1 })],
    {},
    [
      "seconds of real machines",
      "times with a core for each rank",
      "times without other runs on the machine",
    ],
  ],
])("%s", (_, rows, changes, expected) => {
  expect(open(rows, changes)).toEqual([...expected, USUAL]);
});

it("is nothing where no times are compared", () => {
  expect(open([claimed("Sync EASGD", "no claim")], { target: null })).toEqual([]);
});
