import { useState } from "react";
import type { ExperimentView, RunSummary } from "@/lib/client/types.gen";
import { useAllRuns } from "./use-experiment";

/** What charts tell of a run. */
const marksOf = ({ id, variant, seed, time_to_target }: RunSummary) =>
  [id, variant, seed, time_to_target].join();

const alike = (before: readonly RunSummary[], now: readonly RunSummary[]) =>
  before === now ||
  (before.length === now.length &&
    now.every((run, i) => before[i] === run || marksOf(run) === marksOf(before[i] as RunSummary)));

/** The reported runs of an experiment, which stay the same array until something changes that charts tell of them. */
export function useMarks(experiment: ExperimentView): readonly RunSummary[] {
  const { runs } = useAllRuns(experiment.id, { reported: experiment.spec.tuning ? true : undefined });
  const [kept, keep] = useState<readonly RunSummary[]>(runs);
  if (kept === runs || alike(kept, runs)) return kept;
  keep(runs);
  return runs;
}
