import type { AlgorithmView } from "@/lib/client/types.gen";
import { isJson, type Json, objectsAt, valueAt, withValue } from "@/lib/json/document";
import { type FormField, fieldsFromSchema } from "@/lib/json/fields-from-schema";
import type { Scalar } from "@/lib/spaces/words";

/** The values of each swept parameter of a variant; what is no list counts as none. */
export function sweepOf(variant: unknown): Record<string, Scalar[]> {
  const sweep = valueAt(variant, ["sweep"]);
  if (!isJson(sweep)) return {};
  return Object.fromEntries(
    Object.entries(sweep).filter((entry): entry is [string, Scalar[]] => Array.isArray(entry[1])),
  );
}

/** How many variants one stands for. */
export function countOf(variant: unknown): number {
  return Object.values(sweepOf(variant)).reduce((count, values) => count * values.length, 1);
}

/** The position of a variant, of its first one if it is swept, in the experiment: its colour. */
export function positionOf(draft: Json, index: number): number {
  const before = objectsAt(draft, ["variants"]).slice(0, index);
  return before.reduce((sum, variant) => sum + countOf(variant), 0);
}

/** Parameters that can be swept: numbers, choices and switches that are not swept already. */
export function sweepable(variant: unknown, algorithm: AlgorithmView): FormField[] {
  const swept = sweepOf(variant);
  return fieldsFromSchema(algorithm.parameters).filter((field) => !(field.name in swept));
}

/** Sweep a parameter over values, instead of its value or search; undefined: sweep it no more. */
export function withSweep(draft: Json, index: number, name: string, values: Scalar[] | undefined): Json {
  const at = ["variants", index] as const;
  let next = withValue(draft, [...at, "sweep", name], values);
  for (const key of ["parameters", "search"]) {
    if (values && name in asJson(valueAt(next, [...at, key]))) {
      next = withValue(next, [...at, key, name], undefined);
    }
  }
  for (const key of ["sweep", "search"]) {
    const left = valueAt(next, [...at, key]);
    if (isJson(left) && Object.keys(left).length === 0) next = withValue(next, [...at, key], undefined);
  }
  return next;
}

/** The first values of a sweep: all choices, or the default with its half and its double. */
export function firstValues(field: FormField, value: unknown): Scalar[] {
  if (field.kind === "boolean") return [false, true];
  if (field.kind === "choice") return [...field.choices];
  const middle = value ?? field.default;
  if (typeof middle !== "number") return typeof middle === "string" ? [middle] : [];
  const around = field.kind === "integer" ? [Math.ceil(middle / 2), middle * 2] : [middle / 2, middle * 2];
  const low = field.least ?? Number.NEGATIVE_INFINITY;
  const high = field.greatest ?? Number.POSITIVE_INFINITY;
  const kept = [middle, ...around].filter((one) => one >= low && one <= high);
  return [...new Set(kept)].sort((a, b) => a - b);
}

function asJson(value: unknown): Json {
  return isJson(value) ? value : {};
}
