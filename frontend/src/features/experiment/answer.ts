import type { Comparison, ComparisonRow, SpeedUp } from "@/lib/client/types.gen";
import { formatEstimate, formatFactor } from "@/lib/format/numbers";
import type { Group } from "./groups";

/** Below this number of seeds that both sides finished, nothing is claimed. */
const LEAST_PAIRS = 3;

/** Up to so many equal variants the best one's interval needs no correction for the choice. */
const FREE = 3;

/** Variants without a claim that the headline names. */
const MOST_UNCLAIMED = 2;

const seeds = (count: number) => `${count} ${count === 1 ? "seed" : "seeds"}`;

/** "A, B and C". */
export function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function ends({ low, high }: Pick<SpeedUp, "low" | "high">): string {
  if (low === null && high === null) return "no interval";
  if (high === null) return `from ${formatFactor(low)}`;
  return low === null ? `up to ${formatFactor(high)}` : `${formatFactor(low)} to ${formatFactor(high)}`;
}

const inverse = (value: number | null) => (value ? 1 / value : null);

function swapped({ ratio, low, high }: SpeedUp) {
  return { ratio: inverse(ratio), low: inverse(high), high: inverse(low) };
}

/** "Needs 3 finished seed pairs; has 1". */
export function needs(pairs: number): string {
  return `Needs ${LEAST_PAIRS} finished seed pairs; has ${pairs}`;
}

function inconclusive(speedUp: SpeedUp, interval = ends(speedUp)): string {
  const { claim, ratio, pairs } = speedUp;
  const format = claim === "same" ? formatFactor : formatEstimate;
  const figure = ratio === null ? "" : `${format(ratio)}×`;
  return `${figure} (${interval}, ${seeds(pairs)})`.trim();
}

/** The reason in a sentence of the server, without what the line says already. */
function reasonIn(sentence: string, variant: string): string {
  const found = /(\d+) pairs? of finished seeds/.exec(sentence);
  if (found) return needs(Number(found[1]));
  const said = sentence
    .replace(/^No target was set.*?Against .*?: /, "")
    .replace(`No claim on ${variant}: `, "");
  const reason = said.startsWith(`${variant} `) ? said.slice(variant.length + 1) : said;
  return reason.charAt(0).toUpperCase() + reason.slice(1).replace(/\.$/, "");
}

/** What is claimed of one variant against the baseline, in a line. */
export function lineOf({ variant, speed_up: speedUp }: Pick<ComparisonRow, "variant" | "speed_up">): string {
  const { claim, ratio, low, high, pairs, comparisons, sentence } = speedUp;
  switch (claim) {
    case "baseline":
      return "Baseline";
    case "faster":
      return `${formatFactor(ratio)}× faster (${ends(speedUp)}, ${seeds(pairs)})`;
    case "slower": {
      const other = swapped(speedUp);
      return `${formatFactor(other.ratio)}× as long (${ends(other)}, ${seeds(pairs)})`;
    }
    case "same":
      return `Practically the same: ${inconclusive(speedUp)}`;
    case "at least":
      return `At least ${formatFactor(low)}× faster (${seeds(pairs)}, ${speedUp.censored} without the target)`;
    case "at most":
      return `At least ${formatFactor(inverse(high))}× as long (${seeds(pairs)}, ${speedUp.censored} without the target)`;
    case "not shown": {
      const excludes = (low !== null && low > 1) || (high !== null && high < 1);
      const corrected = excludes && comparisons > 1 ? ` after correction for ${comparisons} comparisons` : "";
      return `Inconclusive${corrected}: ${inconclusive(speedUp)}`;
    }
    case "no claim":
      return reasonIn(sentence, variant);
  }
}

/** The answer of one cluster and number of workers, first of all: who is fastest, and from whom that is not told apart. */
export function headlineOf(
  group: Group,
  {
    baseline,
    target,
    fastest: found,
    complete,
  }: Pick<Comparison, "baseline" | "target" | "fastest" | "complete">,
): string {
  if (target === null) return `No target: final figures against ${baseline}`;
  const fastest = found.find((one) => one.cluster === group.cluster && one.workers === group.workers);
  const going = !complete && group.rows.some((row) => row.finished + row.failed < row.runs); // others were cancelled
  const place = `${going ? " so far" : ""} on ${group.cluster}`;
  const best = group.rows.find((row) => row.variant === fastest?.variant)?.speed_up;
  if (!fastest || !best) return nothingYet(group, baseline);
  const alike = fastest.unseparated.length > 0 ? `, not separated from ${listed(fastest.unseparated)}` : "";
  const apart = `${alike}${going ? "" : unclaimed(group)}`;
  if (fastest.variant === baseline) return `Fastest${place}: ${baseline}, the baseline${apart}`;
  const of = fastest.among > FREE ? `as the best of ${fastest.among}` : "";
  const interval = [ends(fastest), of].filter(Boolean).join(", ");
  if (best.claim === "faster") {
    return `Fastest${place}: ${fastest.variant}, ${formatFactor(best.ratio)}× (${interval})${apart}`;
  }
  if (best.claim === "at least") {
    const bound = `at least ${formatFactor(fastest.low)}×${of && ` (${of})`}`;
    return `Fastest${place}: ${fastest.variant}, ${bound}${apart}`;
  }
  return `Inconclusive${place}: ${fastest.variant} ${inconclusive(best, interval)}`;
}

/** Of which variants nothing is claimed, as where their tuning was not that of the others; in the server's words. */
function unclaimed({ rows }: Group): string {
  const names = rows.filter((row) => row.speed_up.claim === "no claim").map((row) => row.variant);
  if (names.length > MOST_UNCLAIMED) return `, no claim on ${names.length} others`;
  return names.length > 0 ? `, no claim on ${listed(names)}` : "";
}

function nothingYet(group: Group, baseline: string): string {
  const others = group.rows.filter((row) => row.speed_up.claim !== "baseline");
  if (others.length === group.rows.length) return `No verdict: ${baseline}, the baseline, did not run here`;
  if (others.length === 0) return `No verdict: nothing to compare with ${baseline}`;
  const pairs = Math.max(...others.map((row) => row.speed_up.pairs));
  return pairs < LEAST_PAIRS ? needs(pairs) : "No verdict: see each variant";
}
