import type { ExperimentView } from "@/lib/client/types.gen";
import { isTerminal } from "@/lib/ui/states";

/** As many variants as an experiment can have. */
const MOST_VARIANTS = 200;

/** Why nothing is added to an experiment, now or ever; undefined: something may be. */
export function whyNotExtended({ origin, archived, finished_at, state }: ExperimentView): string | undefined {
  if (origin) return "It was imported from another server. Clone it to run it here.";
  if (!finished_at || !isTerminal(state)) return "Its runs have not ended: wait for them or cancel them.";
  return archived ? "It is archived: unarchive it first." : undefined;
}

/** Why no variants are added to an experiment. */
export function whyNoVariants(experiment: ExperimentView): string | undefined {
  const { spec } = experiment;
  if (spec.tuning?.continues) {
    return "It continues the tuning of another experiment, so new variants would have fewer trials. Clone it instead.";
  }
  const full = spec.variants.length >= MOST_VARIANTS;
  return whyNotExtended(experiment) ?? (full ? `It has ${MOST_VARIANTS} variants, the maximum.` : undefined);
}
