import type { AlgorithmView, ExperimentView, WorkloadView } from "@/lib/client/types.gen";
import type { Preset } from "@/lib/format/networks";
import { isJson, type Json, objectsAt, textAt } from "@/lib/json/document";
import { withoutSpaces } from "@/lib/spaces/begun";
import { afterInsertion, afterRemoval } from "./baseline";

/** `name`, or `name 2`, `name 3`...: the first that is not taken. */
export function freeName(name: string, taken: readonly string[], separator = " "): string {
  if (!taken.includes(name)) return name;
  for (let i = 2; ; i += 1) {
    const next = `${name}${separator}${i}`;
    if (!taken.includes(next)) return next;
  }
}

export function variantNames(draft: Json): string[] {
  return objectsAt(draft, ["variants"]).map((variant) => textAt(variant, ["name"]));
}

function clusterNames(draft: Json): string[] {
  return objectsAt(draft, ["clusters"]).map((cluster) => textAt(cluster, ["name"]));
}

/** Of a method to try, what it is compared with: the first of these that is another one. */
const COMMON = ["sync-sgd", "sync-easgd"];

/**
 * A small honest comparison of what is there: a method to try with a common one, or else the baseline of the paper and
 * its successor, if both are known.
 */
export function emptyDraft(
  algorithms: readonly AlgorithmView[],
  workloads: readonly WorkloadView[],
  cluster: string,
  tried?: string,
): Json {
  const common = COMMON.find((name) => name !== tried && algorithms.some((one) => one.name === name));
  const wanted = tried ? [common, tried] : ["original-easgd", "sync-easgd"];
  const chosen = wanted.flatMap((name) => algorithms.filter((one) => one.name === name));
  const variants = (chosen.length === 2 ? chosen : algorithms.slice(0, 2)).map((one) => ({
    name: shortTitle(one),
    algorithm: one.name,
    parameters: {},
  }));
  const workload = workloads.find((one) => one.name === "digits-mlp") ?? workloads[0];
  return {
    schema: "hooke.experiment/1",
    name: "New comparison",
    description: "",
    workload: { name: workload?.name ?? "", parameters: {} },
    batch: 32,
    sharding: "iid",
    variants,
    baseline: variants[0]?.name ?? "",
    clusters: [{ name: cluster, workers: ["auto"], seeds: 3 }],
    first_seed: 0,
    budget: { samples: 120_000 },
    target: { metric: "validation_accuracy", value: workload?.target ?? 0.95 },
    evaluation: { every: 2000 },
  };
}

/**
 * The document of an experiment, to be submitted again: under the name that it has now, and without the search spaces
 * that the server wrote into it. One that continues another one gets those of that one, any other the present ones.
 * Where the server stores that a cluster is computed on none, it is a registered one, or a virtual one that is computed
 * on the cluster of its name.
 */
export function clonedFrom({ name, spec: stored }: Pick<ExperimentView, "name" | "spec">): Json {
  const { spec } = withoutSpaces(stored);
  const clusters = objectsAt(spec, ["clusters"]).map(({ computed_on: host, ...cluster }) => {
    if (typeof host === "string") return { ...cluster, computed_on: host };
    return isJson(cluster.virtual) ? { ...cluster, computed_on: cluster.name } : cluster;
  });
  return { ...spec, name, clusters };
}

/** "Original EASGD (round robin)" is "Original EASGD" as the name of a variant. */
export function shortTitle(algorithm: AlgorithmView): string {
  return algorithm.title.replace(/\s*\(.*\)$/, "");
}

/** With a variant of a method; `present`: names that are taken beside those of the draft. */
export function withVariant(draft: Json, algorithm: AlgorithmView, present: readonly string[] = []): Json {
  const name = freeName(shortTitle(algorithm), [...present, ...variantNames(draft)]);
  const before = objectsAt(draft, ["variants"]);
  const variants = [...before, { name, algorithm: algorithm.name, parameters: {} }];
  return { ...draft, variants, baseline: before.length === 0 ? 0 : draft.baseline };
}

/**
 * Another method for a variant, whose parameters, spaces and sweeps go with the one before. So does its name, unless
 * somebody has given it one: results are told by names.
 */
export function withAlgorithm(
  draft: Json,
  index: number,
  algorithm: AlgorithmView,
  before: AlgorithmView | undefined,
  present: readonly string[] = [],
): Json {
  const variants = objectsAt(draft, ["variants"]);
  const { search, sweep, ...kept } = variants[index] ?? {};
  const had = textAt(kept, ["name"]);
  const others = [...present, ...variantNames(draft).toSpliced(index, 1)];
  const name = before && isNamedAfter(had, before) ? freeName(shortTitle(algorithm), others) : had;
  return {
    ...draft,
    variants: variants.with(index, { ...kept, name, algorithm: algorithm.name, parameters: {} }),
  };
}

/** Whether a name is the one that the form gives to variants of a method. */
function isNamedAfter(name: string, algorithm: AlgorithmView): boolean {
  const title = shortTitle(algorithm);
  return name === title || (name.startsWith(`${title} `) && /^\d+$/.test(name.slice(title.length + 1)));
}

export function withCopy(draft: Json, index: number, present: readonly string[] = []): Json {
  const variants = objectsAt(draft, ["variants"]);
  const original = variants[index];
  if (!original) return draft;
  const copy = {
    ...original,
    name: freeName(textAt(original, ["name"]), [...present, ...variantNames(draft)]),
  };
  const baseline = afterInsertion(draft, index + 1);
  return { ...draft, variants: variants.toSpliced(index + 1, 0, copy), baseline };
}

export function withoutVariant(draft: Json, index: number): Json {
  const variants = objectsAt(draft, ["variants"]).toSpliced(index, 1);
  return { ...draft, variants, baseline: afterRemoval(draft, index) };
}

export function withCluster(draft: Json, name: string): Json {
  const free = freeName(name, clusterNames(draft), "-");
  return {
    ...draft,
    clusters: [...objectsAt(draft, ["clusters"]), { name: free, workers: ["auto"], seeds: 3 }],
  };
}

/** A virtual cluster computed on a registered one: five seeds, because they are cheap. */
export function withVirtualCluster(draft: Json, preset: Preset, host: string): Json {
  const { latency, seconds_per_byte } = preset;
  const cluster = {
    name: freeName(preset.key, clusterNames(draft), "-"),
    computed_on: host,
    workers: [8],
    seeds: 5,
    virtual: { latency, seconds_per_byte },
  };
  return { ...draft, clusters: [...objectsAt(draft, ["clusters"]), cluster] };
}

/** A virtual cluster with the constants of a registered one's latest calibration, computed on that one. */
export function withVirtualLike(draft: Json, name: string): Json {
  const cluster = {
    name: freeName(`like-${name}`, clusterNames(draft), "-"),
    computed_on: name,
    workers: [8],
    seeds: 5,
    virtual: { like: name },
  };
  return { ...draft, clusters: [...objectsAt(draft, ["clusters"]), cluster] };
}

export function withoutCluster(draft: Json, index: number): Json {
  return { ...draft, clusters: objectsAt(draft, ["clusters"]).toSpliced(index, 1) };
}

/** "auto", "2, 4, 8": what the field shows. */
export function workersText(value: unknown): string {
  return Array.isArray(value) ? value.join(", ") : "";
}

/** Numbers and `auto` as the specification wants them; what is neither stays text, for the server to refuse. */
export function workersFrom(text: string): (number | string)[] {
  return text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** Read a document typed as JSON, or say why the form cannot show it. */
export function draftFrom(text: string): { draft: Json } | { problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: error instanceof Error ? `This is not JSON: ${error.message}` : "This is not JSON." };
  }
  return draftOf(value);
}

/** A document as a draft, or why the form cannot show it. */
export function draftOf(value: unknown): { draft: Json } | { problem: string } {
  if (!isJson(value)) return { problem: "A specification is an object: { … }." };
  for (const key of ["variants", "clusters"]) {
    const list = value[key];
    if (list !== undefined && !(Array.isArray(list) && list.every(isJson))) {
      return { problem: `“${key}” is a list of objects: [{ … }, { … }].` };
    }
  }
  const clusters = objectsAt(value, ["clusters"]).map(withPresentNames);
  return { draft: "clusters" in value ? { ...value, clusters } : value };
}

/** Earlier versions called `computed_on` `on`. */
function withPresentNames(cluster: Json): Json {
  if (!("on" in cluster) || "computed_on" in cluster) return cluster;
  const { on, ...rest } = cluster;
  return { ...rest, computed_on: on };
}
