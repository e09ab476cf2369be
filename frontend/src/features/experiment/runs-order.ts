import type { RunSummary } from "@/lib/client/types.gen";
import { stateLook } from "@/lib/ui/states";

/** The columns of the table of runs, by each of which it can be sorted. */
export const COLUMNS = [
  { key: "run", title: "Run", number: false },
  { key: "variant", title: "Variant", number: false },
  { key: "trial", title: "Trial", number: false },
  { key: "cluster", title: "Cluster", number: false },
  { key: "seed", title: "Seed", number: true },
  { key: "state", title: "State", number: false },
  { key: "budget", title: "Budget", number: false },
  { key: "accuracy", title: "Last accuracy", number: true },
  { key: "test", title: "Test accuracy, once", number: true },
  { key: "time", title: "Time to target", number: true },
  { key: "communication", title: "Communication", number: true },
] as const;

export type RunKey = (typeof COLUMNS)[number]["key"];

export interface RunsOrder {
  readonly key: RunKey;
  readonly down: boolean;
}

/** The order that an address names, "time" or "-time"; undefined: as the server lists them. */
export function runsOrderIn(text: string | undefined): RunsOrder | undefined {
  const down = text?.startsWith("-") ?? false;
  const found = COLUMNS.find(({ key }) => key === (down ? text?.slice(1) : text));
  return found && { key: found.key, down };
}

/** A click on a column: upwards, then downwards, then as listed. */
export function nextOrder(order: RunsOrder | undefined, key: RunKey): string | undefined {
  if (order?.key !== key) return key;
  return order.down ? undefined : `-${key}`;
}

function sortValue(run: RunSummary, key: RunKey, variants: readonly string[]): string | number | null {
  switch (key) {
    case "run":
      return run.number;
    case "variant":
      return variants.indexOf(run.variant); // in the order of the specification, as everywhere
    case "trial":
      return run.trial;
    case "cluster":
      return `${run.cluster} ${run.workers}`;
    case "seed":
      return run.seed;
    case "state":
      return stateLook(run.state).label;
    case "budget":
      return run.samples / Math.max(1, run.budget);
    case "accuracy":
      return run.accuracy;
    case "test":
      return run.test_accuracy;
    case "time":
      return run.time_to_target;
    case "communication":
      return run.communication_fraction;
  }
}

const TEXT = new Intl.Collator("en", { numeric: true });

/** The runs in an order; what has no value comes last, whichever way, and equal ones stay as they were. */
export function inOrder(
  runs: readonly RunSummary[],
  order: RunsOrder | undefined,
  variants: readonly string[],
): readonly RunSummary[] {
  if (!order) return runs;
  const sign = order.down ? -1 : 1;
  return runs
    .map((run) => ({ run, value: sortValue(run, order.key, variants) }))
    .sort(({ value: a }, { value: b }) => {
      if (a === null || b === null) return Number(a === null) - Number(b === null);
      return sign * (typeof a === "string" ? TEXT.compare(a, String(b)) : a - Number(b));
    })
    .map(({ run }) => run);
}
