import type { AlgorithmList, ExperimentView } from "@/lib/client/types.gen";
import { valueAt, withValue } from "@/lib/json/document";

const COLLECTIVE = ["properties", "collective"] as const;

/**
 * The catalogue as the form of an extension shows it: a variant that names no collective gets that of the present
 * ones, if these have the same, and not the default of a new experiment.
 */
export function asPresent(catalogue: AlgorithmList, { spec }: ExperimentView): AlgorithmList {
  const present = new Set(spec.variants.map((variant) => valueAt(variant, ["communication", "collective"])));
  const [collective] = present;
  const { communication } = catalogue;
  if (present.size !== 1 || collective === undefined || valueAt(communication, COLLECTIVE) === undefined)
    return catalogue;
  return { ...catalogue, communication: withValue(communication, [...COLLECTIVE, "default"], collective) };
}
