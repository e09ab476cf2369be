import type { AlgorithmView, Space } from "@/lib/client/types.gen";
import { isJson, type Json, objectsAt, textAt, valueAt, withValue } from "@/lib/json/document";
import { type FormField, fieldsFromSchema } from "@/lib/json/fields-from-schema";
import type { Scalar } from "@/lib/spaces/words";
import type { Wider } from "./search";
import { givenSettings } from "./searched-workload";
import { sweepOf } from "./sweeps";

/**
 * What tuning does with a parameter: it is `searched` in the space that the algorithm declares or in the variant's
 * `own`; `given` a value, or left at its `default`, it is not.
 */
export type SearchState = "searched" | "own" | "given" | "default";

export interface SearchedParameter {
  readonly name: string;
  readonly title: string;
  readonly state: SearchState;
  /** The space that holds, or would hold without a value. */
  readonly space: Space | undefined;
  /** Whether the algorithm declares a space for it. */
  readonly declared: boolean;
  /** Whether the variant says something of its search. */
  readonly mentioned: boolean;
  /** What it is given, or its default. */
  readonly value: unknown;
}

export function tunes(draft: Json): boolean {
  return isJson(draft.tuning);
}

/** As a document needs it: without what says nothing. */
export function compact(space: Space): Space {
  const { low, high, scale, integer, choices, when, unless } = space;
  return {
    ...(choices ? { choices } : { low, high }),
    ...(!choices && scale && scale !== "linear" ? { scale } : {}),
    ...(integer ? { integer } : {}),
    ...(when && Object.keys(when).length > 0 ? { when } : {}),
    ...(unless && Object.keys(unless).length > 0 ? { unless } : {}),
  };
}

/**
 * Every parameter that a space is declared for or that the variant mentions, in the order of the form. A declared
 * space counts only where its conditions hold, or may hold because the other parameter is searched, too.
 */
export function searchedParameters(variant: unknown, algorithm: AlgorithmView): SearchedParameter[] {
  const search = valueAt(variant, ["search"]);
  const own = isJson(search) ? search : {};
  const given = valueAt(variant, ["parameters"]);
  const values: Json = { ...(isJson(given) ? given : {}), ...givenSettings(variant), ...sweepOf(variant) };
  const fields = fieldsFromSchema(algorithm.parameters);
  const names = [...fields.map((field) => field.name), ...Object.keys(own)];
  const varies = (name: string) =>
    !(name in values) && (isJson(own[name]) || (name in algorithm.search && own[name] !== null));
  const has = (name: string, some: readonly unknown[]) => {
    const field = fields.find((one) => one.name === name);
    return field && some.includes((name in values ? values[name] : field.default) ?? null);
  };
  const mayApply = (space: Space) =>
    Object.entries(space.when ?? {}).every(([other, some]) => varies(other) || has(other, some) !== false) &&
    Object.entries(space.unless ?? {}).every(([other, some]) => varies(other) || !has(other, some));
  return [...new Set(names)].flatMap((name) => {
    const declared = algorithm.search[name];
    const mentioned = name in own;
    if (!mentioned && (!declared || !mayApply(declared))) return [];
    const field = fields.find((one) => one.name === name);
    const space = isJson(own[name]) ? (own[name] as Space) : declared;
    const shared = { name, title: field?.title ?? name, space, declared: declared !== undefined, mentioned };
    if (name in values) return { ...shared, state: "given", value: values[name] };
    if (own[name] === null) return { ...shared, state: "default", value: field?.default };
    return { ...shared, state: mentioned ? "own" : "searched", value: undefined };
  });
}

/** Names of the parameters that are searched unless the variant gives them a value. */
export function free(variant: unknown, algorithm: AlgorithmView): ReadonlySet<string> {
  const parameters = searchedParameters(variant, algorithm);
  return new Set(parameters.filter(({ state }) => state !== "default").map(({ name }) => name));
}

/** Parameters that could be searched as well. */
export function searchable(variant: unknown, algorithm: AlgorithmView): FormField[] {
  const known = new Set(searchedParameters(variant, algorithm).map(({ name }) => name));
  return fieldsFromSchema(algorithm.parameters).filter((field) => !known.has(field.name));
}

/** A first space for a parameter without one: the one proposed, its choices, or an interval around its default. */
export function firstSpace(field: FormField): Space {
  if (field.space) return field.space;
  if (field.kind === "boolean") return { choices: [false, true] };
  if (field.kind === "choice") return { choices: [...field.choices] };
  if (field.kind !== "number" && field.kind !== "integer") return { choices: [scalarOf(field.default)] };
  const middle = typeof field.default === "number" ? field.default : 0;
  const integer = field.kind === "integer" ? { integer: true } : {};
  if (middle <= 0) return { low: field.least ?? 0, high: field.greatest ?? 1, ...integer };
  const low = Math.max(rounded(middle / 10), field.least ?? 0, integer.integer ? 1 : 0);
  const high = Math.min(rounded(middle * 10), field.greatest ?? Number.POSITIVE_INFINITY);
  return { low, high, ...(low > 0 ? { scale: "log" as const } : {}), ...integer };
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

function scalarOf(value: unknown): Scalar {
  return typeof value === "number" || typeof value === "boolean" || typeof value === "string" ? value : null;
}

/** What is typed between commas, as JSON knows it; other words are text. */
export function choicesFrom(text: string): Scalar[] {
  const words = text.split(",").map((word) => word.trim());
  return words.filter(Boolean).map((word) => {
    const named: Record<string, Scalar> = { true: true, false: false, empty: null };
    if (Object.hasOwn(named, word)) return named[word] ?? null;
    return Number.isNaN(Number(word)) ? word : Number(word);
  });
}

export function choicesText(choices: unknown): string {
  if (!Array.isArray(choices)) return "";
  return choices.map((choice) => (choice === null ? "empty" : String(choice))).join(", ");
}

/** Set a variant's own space of a parameter, null for its default; undefined leaves it to the algorithm. */
export function withSpace(draft: Json, index: number, name: string, space: Space | null | undefined): Json {
  const next = withValue(draft, ["variants", index, "search", name], space);
  const left = valueAt(next, ["variants", index, "search"]);
  const empty = isJson(left) && Object.keys(left).length === 0;
  return empty ? withValue(next, ["variants", index, "search"], undefined) : next;
}

/** Without tuning nothing is searched: spaces go as well. */
export function withoutTuning(draft: Json): Json {
  const { tuning, ...rest } = draft;
  const variants = objectsAt(draft, ["variants"]).map(({ search, ...variant }) => variant);
  return { ...rest, variants };
}

/** With tuning as in an earlier draft, and the spaces of its variants, if there is one. */
export function withTuning(draft: Json, earlier: Json | undefined): Json {
  const spaces = new Map(objectsAt(earlier, ["variants"]).map((one) => [textAt(one, ["name"]), one]));
  const variants = objectsAt(draft, ["variants"]).map((variant) => {
    const before = spaces.get(textAt(variant, ["name"]));
    const same = before && before.algorithm === variant.algorithm && isJson(before.search);
    return same ? { ...variant, search: before.search } : variant;
  });
  return { ...draft, tuning: isJson(earlier?.tuning) ? earlier.tuning : {}, variants };
}

/** The document with wider spaces for a variant of this name. */
export function withWider(draft: Json, variant: string, spaces: Record<string, Space>): Json {
  const index = objectsAt(draft, ["variants"]).findIndex((one) => textAt(one, ["name"]) === variant);
  if (index < 0) return draft;
  return Object.entries(spaces).reduce(
    (next, [name, space]) => withSpace(next, index, name, compact(space)),
    draft,
  );
}

/** An experiment that continues another one with wider spaces: the trials made there count. */
export function continuing(draft: Json, id: string, wider: readonly Wider[]): Json {
  const wide = wider.reduce((next, { variant, spaces }) => withWider(next, variant, spaces), draft);
  return withValue(wide, ["tuning", "continues"], id);
}
