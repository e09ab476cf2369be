import type { AlgorithmView } from "@/lib/client/types.gen";
import { paragraphsOf } from "@/lib/format/docstring";
import { formatNumber } from "@/lib/format/numbers";

const NEXT: Record<string, string> = {
  synchronous: "all workers step together",
  "parameter-server": "the server grants steps",
  "lock-free": "a shared counter gives steps",
};

/** Processes of P workers: "P + 1 server", "1". */
export function ranksOf({ servers, max_workers }: AlgorithmView): string {
  if (max_workers === 1) return "1";
  return servers > 0 ? `P + ${servers}` : "P";
}

/** What a worker asks to move per local step with the method's defaults, in vectors of all weights. */
export function payloadOf({ payload_per_step: payload }: AlgorithmView): string {
  return payload === null ? "not declared" : `${formatNumber(payload)} |W|`;
}

/** What lets a worker take its next step. */
export function coordinationOf({ coordination }: AlgorithmView): string {
  const words = NEXT[coordination];
  return words ? `${coordination}: ${words}` : coordination;
}

export function sameBits({ deterministic }: AlgorithmView): string {
  return deterministic ? "yes" : "virtual time only";
}

export function onBadWorker({ may_drop }: AlgorithmView): string {
  return may_drop ? "may continue without it" : "ends the run";
}

/** The sentence of a docstring on the cost, which has its own part of the page. */
export const COST = /\bCost per .*?\.(?=\s+[A-Z]|\s*$)/;

/** What the docstring says of the cost; empty: nothing. */
export function costOf(documentation: string): string {
  const prose = paragraphsOf(documentation).find(({ kind, text }) => kind === "prose" && COST.test(text));
  return prose ? (COST.exec(prose.text)?.[0] ?? "") : "";
}

/** The methods under the headings that they declare, one's own first. */
export function byFamily(algorithms: readonly AlgorithmView[]): [string, AlgorithmView[]][] {
  const groups = new Map<string, AlgorithmView[]>();
  for (const one of algorithms) {
    const family = one.origin === "built-in" ? one.family : OWN;
    groups.set(family, [...(groups.get(family) ?? []), one]);
  }
  return [...groups].sort(([a], [b]) => Number(b === OWN) - Number(a === OWN) || a.localeCompare(b));
}

const OWN = "Your own";

/** Whether a method is meant by what was typed: every word stands in its names or its text. */
export function matches(algorithm: AlgorithmView, typed: string): boolean {
  const text =
    `${algorithm.name} ${algorithm.title} ${algorithm.family} ${algorithm.documentation}`.toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
