import type { AlgorithmList, ExperimentView } from "@/lib/client/types.gen";
import { valueAt, withValue } from "@/lib/json/document";
import { asBegun } from "@/lib/spaces/begun";

const COLLECTIVE = ["properties", "collective"] as const;

/**
 * The catalogue as the form of an extension shows it: a variant that names no collective gets that of the present
 * ones, if these have the same, and not the default of a new experiment; and an algorithm that it has searches the
 * spaces with which it was begun.
 */
export function asPresent(algorithms: AlgorithmList, { spec }: ExperimentView): AlgorithmList {
  const catalogue = asBegun(algorithms, spec.tuning?.spaces);
  const present = new Set(spec.variants.map((variant) => valueAt(variant, ["communication", "collective"])));
  const [collective] = present;
  const { communication } = catalogue;
  if (present.size !== 1 || collective === undefined || valueAt(communication, COLLECTIVE) === undefined)
    return catalogue;
  return { ...catalogue, communication: withValue(communication, [...COLLECTIVE, "default"], collective) };
}
