/** Which rows of which experiments are chosen, as text for the API and the URL, and as choices for people. */
import type { ComparedExperiment, ComparedRow } from "@/lib/client/types.gen";

/** What is chosen of one experiment; an empty list means all. */
export interface Choice {
  /** Its number, or its id. */
  readonly experiment: string;
  readonly clusters: readonly string[];
  readonly workers: readonly string[];
  readonly variants: readonly string[];
}

export type Facet = "clusters" | "workers" | "variants";

/** Whether the text of a row is the id of a single run. */
export const isRun = (row: string): boolean => /^run_/.test(row);

/** The choices of a list of texts, without those of single runs, such as "12/local/8/Sync EASGD", whose missing parts mean all. */
export function choicesOf(rows: readonly string[]): Choice[] {
  const found = new Map<string, string[][]>();
  for (const row of rows.filter((one) => !isRun(one))) {
    const [experiment = "", cluster = "", workers = "", ...variant] = row.split("/");
    found.set(experiment, [...(found.get(experiment) ?? []), [cluster, workers, variant.join("/")]]);
  }
  return [...found].map(([experiment, parts]) => {
    const chosen = (at: number) => {
      const values = parts.map((part) => part[at] ?? "");
      return values.includes("") ? [] : [...new Set(values)];
    };
    return { experiment, clusters: chosen(0), workers: chosen(1), variants: chosen(2) };
  });
}

/** The texts of choices: every combination of what is chosen of an experiment. */
export function rowsOf(choices: readonly Choice[]): string[] {
  const all = (values: readonly string[]) => (values.length > 0 ? values : [""]);
  return choices.flatMap(({ experiment, clusters, workers, variants }) =>
    all(clusters).flatMap((cluster) =>
      all(workers).flatMap((count) =>
        all(variants).map((variant) => [experiment, cluster, count, variant].join("/").replace(/\/+$/, "")),
      ),
    ),
  );
}

/** The choices with other experiments: those that stay keep what was chosen of them. */
export function withExperiments(choices: readonly Choice[], experiments: readonly string[]): Choice[] {
  return experiments.map(
    (experiment) =>
      choices.find((choice) => choice.experiment === experiment) ?? {
        experiment,
        clusters: [],
        workers: [],
        variants: [],
      },
  );
}

/** The text of one row. */
export function keyOf({ number, cluster, workers, variant, run }: ComparedRow): string {
  return run?.id ?? `${number}/${cluster}/${workers}/${variant}`;
}

/** Whether a row, given by its text, is among what is chosen. */
export function hasRow(choices: readonly Choice[], key: string): boolean {
  const [number, cluster = "", workers = "", ...variant] = key.split("/");
  const has = (chosen: readonly string[], value: string) => chosen.length === 0 || chosen.includes(value);
  return choices.some(
    (choice) =>
      choice.experiment === number &&
      has(choice.clusters, cluster) &&
      has(choice.workers, workers) &&
      has(choice.variants, variant.join("/")),
  );
}

export function isOf(choice: Choice, experiment: ComparedExperiment): boolean {
  return choice.experiment === String(experiment.number) || choice.experiment === experiment.id;
}
