import type { AlgorithmView, ExperimentSpec, Tuning } from "@/lib/client/types.gen";

/** The spaces with which an experiment was begun: algorithm, parameter, space. */
export type Begun = NonNullable<Tuning["spaces"]>;

/**
 * A specification as people read it, and apart from it the search spaces with which it was begun, if it has any. Those
 * that its document gave stay in it.
 */
export function withoutSpaces(spec: ExperimentSpec): { spec: ExperimentSpec; spaces: Begun | undefined } {
  if (!spec.tuning) return { spec, spaces: undefined };
  const { spaces, later, given = [], ...tuning } = spec.tuning;
  const own = Object.entries(spaces ?? {}).filter(([algorithm]) => given.includes(algorithm));
  const kept = own.length > 0 ? { ...tuning, spaces: Object.fromEntries(own) } : tuning;
  return { spec: { ...spec, tuning: kept }, spaces };
}

/** A catalogue whose algorithms search what an experiment was begun with. */
export function asBegun<T extends { readonly items: readonly AlgorithmView[] }>(
  catalogue: T,
  begun: Begun | undefined,
): T {
  if (!begun) return catalogue;
  const items = catalogue.items.map((one) => ({ ...one, search: begun[one.name] ?? one.search }));
  return { ...catalogue, items };
}
