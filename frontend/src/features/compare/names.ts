import type { ComparedExperiment, ComparedRow } from "@/lib/client/types.gen";

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
