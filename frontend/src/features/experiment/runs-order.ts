import type { RunSummary } from "@/lib/client/types.gen";
import { stateLook } from "@/lib/ui/states";

/** The columns of the table of runs, by each of which it can be sorted. */
export const COLUMNS = [
  { key: "run", title: "Run", number: false, usual: true },
  { key: "variant", title: "Variant", number: false, usual: true },
  { key: "method", title: "Algorithm", number: false, usual: false },
  { key: "trial", title: "Trial", number: false, usual: true },
  { key: "cluster", title: "Cluster", number: false, usual: true },
  { key: "seed", title: "Seed", number: true, usual: true },
  { key: "state", title: "State", number: false, usual: true },
  { key: "started", title: "Started", number: false, usual: false },
  { key: "duration", title: "Duration", number: true, usual: false },
  { key: "budget", title: "Budget", number: false, usual: true },
  { key: "samples", title: "Samples", number: true, usual: false },
  { key: "accuracy", title: "Last accuracy", number: true, usual: true },
  { key: "loss", title: "Last loss", number: true, usual: false },
  { key: "test", title: "Test accuracy, once", number: true, usual: true },
  { key: "test_loss", title: "Test loss, once", number: true, usual: false },
  { key: "time", title: "Time to target", number: true, usual: true },
  { key: "communication", title: "Communication", number: true, usual: true },
  { key: "staleness", title: "Staleness", number: true, usual: false },
  { key: "energy", title: "Machine energy", number: true, usual: false },
] as const;

export type RunColumn = (typeof COLUMNS)[number];
export type RunKey = RunColumn["key"];

/** The columns that can be switched off: all but the first, which leads to the run. */
export const OPTIONAL = COLUMNS.filter(({ key }) => key !== "run");

/** Of some columns those that can be there: trials are of tuned experiments alone. */
export function columnsFor(columns: readonly RunColumn[], tuned: boolean): readonly RunColumn[] {
  return columns.filter(({ key }) => tuned || key !== "trial");
}

/** Seconds from the start of a run to its end; null before that. */
export function secondsOf({ started_at: from, finished_at: to }: RunSummary): number | null {
  return from && to ? (Date.parse(to) - Date.parse(from)) / 1000 : null;
}

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

/** What the server sorts by where the table has these columns; by others it does not. */
const OF_SERVER: { readonly [key in RunKey]?: string } = {
  run: "number",
  seed: "seed",
  samples: "samples",
  accuracy: "accuracy",
  loss: "loss",
  test: "test_accuracy",
  test_loss: "test_loss",
  time: "time_to_target",
  communication: "communication_fraction",
  staleness: "staleness",
};

/** What is asked for to have a file of all runs in the order of the table, as far as the server has it. */
export function inTableOrder(
  text: string | undefined,
  archived: boolean,
): { sort?: string; filter?: string } {
  const order = runsOrderIn(text);
  const field = order && OF_SERVER[order.key];
  if (!field) return {};
  // a list in an order leaves out archived experiments, unless it is asked for these
  return { sort: `${order.down ? "-" : ""}${field}`, ...(archived ? { filter: "archived" } : {}) };
}

function sortValue(run: RunSummary, key: RunKey, variants: readonly string[]): string | number | null {
  switch (key) {
    case "run":
      return run.number;
    case "variant":
      return variants.indexOf(run.variant); // in the order of the specification, as everywhere
    case "method":
      return run.algorithm;
    case "trial":
      return run.trial;
    case "cluster":
      return `${run.cluster} ${run.workers}`;
    case "seed":
      return run.seed;
    case "state":
      return stateLook(run.state).label;
    case "started":
      return run.started_at && Date.parse(run.started_at);
    case "duration":
      return secondsOf(run);
    case "samples":
      return run.samples;
    case "budget":
      return run.samples / Math.max(1, run.budget);
    case "accuracy":
      return run.accuracy;
    case "loss":
      return run.loss;
    case "test":
      return run.test_accuracy;
    case "test_loss":
      return run.test_loss;
    case "time":
      return run.time_to_target;
    case "communication":
      return run.communication_fraction;
    case "staleness":
      return run.staleness;
    case "energy":
      return run.energy_j ?? null;
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
