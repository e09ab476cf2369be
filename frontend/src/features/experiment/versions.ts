import type { ExperimentVersion } from "@/lib/client/types.gen";

/** As many seeds as a cluster has where the document does not say. */
const USUAL_SEEDS = 3;

const plural = (count: number, one: string) => `${count} ${one}${count === 1 ? "" : "s"}`;

/** Numbers of seeds by cluster: "3 seeds", "3 seeds on local, 5 on 10gbe". */
function seedsOf({ spec }: ExperimentVersion): string {
  const counts = spec.clusters.map(({ name, seeds = USUAL_SEEDS }) => ({ name, seeds }));
  const [first, ...others] = counts;
  if (!first) return "no seeds";
  if (others.every(({ seeds }) => seeds === first.seeds)) return plural(first.seeds, "seed");
  const rest = others.map(({ name, seeds }) => `${seeds} on ${name}`);
  return [`${plural(first.seeds, "seed")} on ${first.name}`, ...rest].join(", ");
}

/** What a version has that the one before it had not: "1 variant: Sync SGD; 2 more seeds, now 5 seeds". */
export function addedBy(version: ExperimentVersion, before: ExperimentVersion | undefined): string {
  const { variants, clusters } = version.spec;
  if (!before) return `submitted with ${plural(variants.length, "variant")}, ${seedsOf(version)}`;
  const known = new Set(before.spec.variants.map(({ name }) => name));
  const added = variants.map(({ name }) => name).filter((name) => !known.has(name));
  const [now, then] = [clusters, before.spec.clusters].map((list) => list[0]?.seeds ?? USUAL_SEEDS);
  const more = (now ?? 0) - (then ?? 0); // the same number for every cluster
  return [
    ...(added.length > 0 ? [`${plural(added.length, "variant")}: ${added.join(", ")}`] : []),
    ...(more > 0 ? [`${plural(more, "more seed")}, now ${seedsOf(version)}`] : []),
  ].join("; ");
}
