import type { ExperimentSummary } from "@/lib/client/types.gen";
import type { Sheet } from "@/lib/export/sheet";
import { progress, stateLook } from "@/lib/ui/states";
import { secondsOf } from "./columns";

type Value = (item: ExperimentSummary, now: number) => string | number;

/** What is said of an experiment, each with whether it is a figure. */
const COLUMNS: readonly [title: string, of: Value, numeric?: boolean][] = [
  ["Number", (item) => item.number, true],
  ["Name", (item) => item.name],
  ["State", (item) => stateLook(item.state).label],
  ["Verdict", (item) => item.headlines.join(" ")],
  ["Baseline", (item) => item.baseline],
  ["Variants", (item) => item.variants.join(", ")],
  ["Workload", (item) => item.workload],
  ["Clusters", (item) => item.clusters.join(", ")],
  ["Runs ended", (item) => progress(item.runs).done, true],
  ["Runs", (item) => progress(item.runs).all, true],
  ["Project", (item) => item.project],
  ["User", (item) => item.user],
  ["Submitted", (item) => item.created_at],
  ["Finished", (item) => item.finished_at ?? ""],
  ["Duration (s)", (item, now) => Math.round(secondsOf(item, now)), true],
  ["Tags", (item) => item.tags.join(", ")],
];

/** The experiments of the list, in its order, as a table. */
export function listSheet(items: readonly ExperimentSummary[], now: number): Sheet {
  return {
    head: COLUMNS.map(([title]) => title),
    numeric: COLUMNS.map(([, , numeric = false]) => numeric),
    rows: items.map((item) => COLUMNS.map(([, of]) => String(of(item, now)))),
  };
}
