import type { ComparedExperiment, ComparedRow, ComparedRows } from "@/lib/client/types.gen";

/** Where a row ran: "local, 8 workers". */
export function placeOf({ cluster, workers }: ComparedRow): string {
  return `${cluster}, ${workers} ${workers === 1 ? "worker" : "workers"}`;
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
      experiments ? `(#${row.number})` : "",
    ]
      .filter(Boolean)
      .join(" "),
  );
}

/** The position of each variant among all that may be chosen, which decides its colour: choosing rows changes none. */
export function colorsOf(experiments: readonly ComparedExperiment[]): (variant: string) => number {
  const names = [...new Set(experiments.flatMap(({ variants }) => variants))];
  return (variant) => names.indexOf(variant);
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
