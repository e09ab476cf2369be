import type { ExperimentSummary } from "@/lib/client/types.gen";
import { progress } from "@/lib/ui/states";
import { secondsOf } from "./columns";

/** By what the list can be sorted; `down`: which way it goes first. */
export const KEYS = [
  { key: "added", title: "Added", down: true, words: ["oldest first", "newest first"] },
  { key: "name", title: "Name", down: false, words: ["A to Z", "Z to A"] },
  { key: "verdict", title: "Verdict", down: true, words: ["smallest claim first", "largest claim first"] },
  { key: "project", title: "Project", down: false, words: ["A to Z", "Z to A"] },
  { key: "user", title: "User", down: false, words: ["A to Z", "Z to A"] },
  { key: "finished", title: "Finished", down: true, words: ["oldest first", "newest first"] },
  { key: "duration", title: "Duration", down: true, words: ["shortest first", "longest first"] },
  { key: "state", title: "State", down: false, words: ["running first", "running last"] },
  { key: "progress", title: "Progress", down: true, words: ["least first", "most first"] },
] as const;

export type SortKey = (typeof KEYS)[number]["key"];

export interface Order {
  readonly key: SortKey;
  readonly down: boolean;
}

/** As the server lists them. */
const NEWEST: Order = { key: "added", down: true };

/** The order that an address names, "duration" or "-duration"; the newest first where it names none. */
export function orderIn(text: string | undefined): Order {
  const down = text?.startsWith("-") ?? false;
  const found = KEYS.find(({ key }) => key === (down ? text?.slice(1) : text));
  return found ? { key: found.key, down } : NEWEST;
}

/** How an address names an order; undefined: it is the usual one. */
export function sortOf({ key, down }: Order): string | undefined {
  if (key === NEWEST.key && down === NEWEST.down) return undefined;
  return down ? `-${key}` : key;
}

/** The order after a click on a column: its own, and after another one the other way. */
export function turned(order: Order, key: SortKey): Order {
  if (order.key === key) return { key, down: !order.down };
  return { key, down: KEYS.find((each) => each.key === key)?.down ?? false };
}

/** What stands before the factor of a claim, and after it, in the server's words (hooke.comparison.headline). */
const FACTOR = /, (?:at least )?([\d.,]+)×(?: \(|, (?:not separated|no claim)|$)/;

/** How much the first line of a verdict claims: the factor of the fastest, 0 where it is inconclusive, -1 for none. */
export function claimOf(line: string | undefined): number | undefined {
  if (line === undefined) return undefined;
  if (line.startsWith("Inconclusive")) return 0;
  if (!line.startsWith("Fastest")) return -1;
  const factor = FACTOR.exec(line)?.[1];
  return factor === undefined ? 1 : Number(factor.replaceAll(",", "")); // without one, it is the baseline
}

const STATES = ["running", "queued", "failed", "cancelled", "succeeded"];

function sortValue(key: SortKey, item: ExperimentSummary, now: number): string | number | undefined {
  switch (key) {
    case "added":
      return item.number;
    case "verdict":
      return claimOf(item.headlines[0]);
    case "finished":
      return item.finished_at ? Date.parse(item.finished_at) : undefined;
    case "duration":
      return secondsOf(item, now);
    case "state": {
      const at = STATES.indexOf(item.state);
      return at < 0 ? STATES.length : at;
    }
    case "progress": {
      const { done, all } = progress(item.runs);
      return all > 0 ? done / all : undefined;
    }
    default:
      return item[key];
  }
}

const TEXT = new Intl.Collator("en", { numeric: true });

/** The experiments in an order; what has no value comes last, whichever way, and equal ones stay as they were. */
export function sorted(
  items: readonly ExperimentSummary[],
  order: Order,
  now: number,
): readonly ExperimentSummary[] {
  if (sortOf(order) === undefined) return items;
  const sign = order.down ? -1 : 1;
  return items
    .map((item) => ({ item, value: sortValue(order.key, item, now) }))
    .sort((one, other) => {
      const [a, b] = [one.value, other.value];
      if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
      const text = typeof a === "string" && typeof b === "string";
      return sign * (text ? TEXT.compare(a, b) : Number(a) - Number(b));
    })
    .map(({ item }) => item);
}
