import type { ComparedExperiment, ComparedRow, ComparedRows } from "@/lib/client/types.gen";
import { apart } from "@/lib/theme/apart";

/** Where a row ran: "local, 8 workers"; of a single run, with its seed. */
export function placeOf({ cluster, workers, run }: ComparedRow): string {
  const place = `${cluster}, ${workers} ${workers === 1 ? "worker" : "workers"}`;
  return run ? `${place}, seed ${run.seed}` : place;
}

/** Its experiment, and its run if it is a single one: "#7, run 21". */
export function sourceOf({ number, run }: ComparedRow): string {
  return run ? `#${number}, run ${run.number},` : `#${number}`;
}

/** The shortest names that tell rows apart: the variant, and whatever else is not the same in all of them. */
export function namesOf(rows: readonly ComparedRow[]): string[] {
  const several = (part: (row: ComparedRow) => unknown) => new Set(rows.map(part)).size > 1;
  const clusters = several((row) => row.cluster);
  const workers = several((row) => row.workers);
  const experiments = several((row) => row.number);
  return rows.map((row) =>
    [
      row.variant,
      clusters ? `on ${row.cluster}` : "",
      workers ? `with ${row.workers}` : "",
      row.run ? `run ${row.run.number}` : "",
      experiments ? `(#${row.number})` : "",
    ]
      .filter(Boolean)
      .join(" "),
  );
}

/**
 * The place of each variant in the palette: that of its experiments, the first one with such a name. Other names of the
 * same colour get another one; choosing rows changes none.
 */
export function colorsOf(experiments: readonly ComparedExperiment[]): (variant: string) => number {
  const found = new Map<string, number>();
  for (const { variants, colors = [] } of experiments)
    for (const [at, name] of variants.entries())
      if (!found.has(name)) found.set(name, colors[at] ?? found.size);
  const places = apart([...found.values()]);
  const names = [...found.keys()];
  return (variant) => places[names.indexOf(variant)] ?? 0;
}

/** Rows that may share an axis: those of one task, measured and simulated ones apart. */
export function groupsOf(rows: readonly ComparedRow[]): [string, ComparedRow[]][] {
  const found = new Map<string, ComparedRow[]>();
  for (const row of rows) {
    const key = `${row.task} ${row.simulated}`;
    found.set(key, [...(found.get(key) ?? []), row]);
  }
  return [...found];
}

/** What the rows of a group have to learn, in words. */
export function taskOf({ tasks }: ComparedRows, [first]: readonly ComparedRow[]): string {
  return `${tasks[first?.task ?? 0] ?? ""}${first?.simulated ? ", simulated" : ""}`;
}
