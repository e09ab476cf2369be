import page from "@docs/algorithms.md?raw";
import { expect, it } from "vitest";
import {
  byFamily,
  coordinationOf,
  matches,
  onBadWorker,
  payloadOf,
  ranksOf,
  sameBits,
} from "@/features/algorithms/facts";
import { findingsOf } from "@/features/algorithms/verified";
import { algorithm } from "../support/fixtures/catalogue";

const PAGE = `# Algorithms

Some words.

## first

**First**

\`\`\`
x' = x
\`\`\`

A preset of \`second\`, with the same options.

**Equals** \`second\` with one
worker.

| verified | virtual world, P = | MPI, P = |
|---|---|---|
| weights are equal | 2, 3 | 2 |
| P1: alone | 1 |  |

**Not verified**, because the class does not claim it: P6 (closed form).

## second

No table.
`;

it("a page of the documents is read section by section", () => {
  const found = findingsOf(PAGE);
  expect([...found.keys()]).toEqual(["first", "second"]);
  expect(found.get("first")).toEqual({
    remarks: ["A preset of `second`, with the same options.", "Equals `second` with one worker."],
    verified: [
      { property: "Weights are equal", virtual: "2, 3", mpi: "2" },
      { property: "P1: alone", virtual: "1", mpi: "" },
    ],
    missing: "Not verified, because the class does not claim it: P6 (closed form).",
  });
  expect(found.get("second")).toEqual({ remarks: [], verified: [], missing: "" });
});

it("the product's own page says of every method what is verified", () => {
  const found = findingsOf(page);
  const methods = [...page.matchAll(/^\| \[`([^`]+)`\]\(#/gm)].map(([, name]) => name);
  expect(methods.length).toBeGreaterThan(30);
  for (const name of methods) {
    const { verified } = found.get(name ?? "") ?? { verified: [] };
    expect(verified.length, name).toBeGreaterThan(3);
    for (const { virtual, mpi } of verified) expect(`${virtual}${mpi}`, name).toMatch(/^[\d, ]+$/);
  }
});

it("what a method declares is said in words", () => {
  const server = algorithm("a", "A", {
    servers: 1,
    coordination: "parameter-server",
    payload_per_step: 0.083,
  });
  expect([ranksOf(server), payloadOf(server), coordinationOf(server)]).toEqual([
    "P + 1",
    "0.083 |W|",
    "parameter-server: the server grants steps",
  ]);
  const alone = algorithm("b", "B", {
    max_workers: 1,
    payload_per_step: null,
    may_drop: true,
    deterministic: false,
  });
  expect([ranksOf(alone), payloadOf(alone), onBadWorker(alone), sameBits(alone)]).toEqual([
    "1",
    "not declared",
    "may continue without it",
    "virtual time only",
  ]);
});

it("methods are found by words, and one's own come first", () => {
  const all = [
    algorithm("sync-sgd", "Sync SGD", { family: "Gradients" }),
    algorithm("easgd", "EASGD", { documentation: "EASGD.\n\nWith a server." }),
    algorithm("mine", "Mine", { origin: "file" }),
  ];
  expect(all.filter((one) => matches(one, "server elastic")).map(({ name }) => name)).toEqual(["easgd"]);
  expect(byFamily(all).map(([family]) => family)).toEqual(["Your own", "Elastic averaging", "Gradients"]);
});
