import type { Comparison, SpeedUp } from "@/lib/client/types.gen";
import { listed } from "./answer";
import type { Group } from "./groups";

const USUAL = "anything beyond this workload, target, cluster and number of workers";

/** What a verdict on one cluster leaves open, in parts of a sentence; nothing without a target, as no times are compared then. */
export function notShown(group: Group, { baseline, target, fastest }: Comparison): string[] {
  if (target === null) return [];
  const having = (...claims: SpeedUp["claim"][]) =>
    group.rows.filter((row) => claims.includes(row.speed_up.claim)).map((row) => row.variant);
  const first = fastest.find((one) => one.cluster === group.cluster && one.workers === group.workers);
  const alike = first && first.unseparated.length > 0 ? [first.variant, ...first.unseparated] : [];
  const open = having("not shown");
  const bounds = having("at least", "at most");
  const silent = having("no claim");
  return [
    alike.length > 0 ? `which of ${few(alike)} is fastest` : "",
    open.length > 0 ? `whether ${few(open)} ${verb(open)} faster or slower than ${baseline}` : "",
    bounds.length > 0 ? beyond(bounds) : "",
    silent.length > 0
      ? `how ${few(silent)} ${silent.length > 1 ? "compare" : "compares"} with ${baseline}`
      : "",
    group.simulated ? "seconds of real machines" : "",
    group.oversubscribed ? "times with a core for each rank" : "",
    group.overlapped ? "times without other runs on the machine" : "",
    USUAL,
  ].filter(Boolean);
}

/** More names than these are counted: the lines above have them. */
const MOST_NAMES = 4;
const few = (names: readonly string[]) =>
  names.length > MOST_NAMES ? `${names.length} variants` : listed(names);

const beyond = (names: readonly string[]) =>
  names.length > 1
    ? `how far beyond their bounds ${few(names)} lie`
    : `how far beyond its bound ${listed(names)} lies`;

const verb = (names: readonly string[]) => (names.length > 1 ? "are" : "is");
