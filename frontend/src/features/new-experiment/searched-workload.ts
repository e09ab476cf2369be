import type { AlgorithmView } from "@/lib/client/types.gen";
import { isJson, type Json, type Path, valueAt } from "@/lib/json/document";

/** In a search the setting NAME of the workload is called `workload.NAME`. */
const PREFIX = "workload.";

/**
 * The part of a workload's schema that a variant may set: how it is trained, not what is learned. Defaults are the
 * values that the workload has in this experiment.
 */
export function settable(schema: unknown, given: unknown): Json | undefined {
  if (!isJson(schema) || !isJson(schema.properties)) return undefined;
  const values = isJson(given) ? given : {};
  const fields = Object.entries(schema.properties).flatMap(([name, field]) =>
    isJson(field) && field.per_variant === true
      ? [[name, name in values ? { ...field, default: values[name] } : field] as const]
      : [],
  );
  return fields.length > 0 ? { ...schema, properties: Object.fromEntries(fields) } : undefined;
}

/** The setting of the workload that a name in a search means; undefined where it is a parameter of the method. */
export function settingName(name: string): string | undefined {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : undefined;
}

/** Where a variant gives a value to what a search calls by this name. */
export function givenAt(index: number, name: string): Path {
  const setting = settingName(name);
  return [
    "variants",
    index,
    ...(setting === undefined ? ["parameters", name] : ["workload_settings", setting]),
  ];
}

/** The settings of the workload that a variant gives, under their names in a search. */
export function givenSettings(variant: unknown): Json {
  const given = valueAt(variant, ["workload_settings"]);
  return isJson(given)
    ? Object.fromEntries(Object.entries(given).map(([name, value]) => [PREFIX + name, value]))
    : {};
}

/** The settings of the workload for which a variant has spaces. */
export function searchedSettings(variant: unknown): ReadonlySet<string> {
  const search = valueAt(variant, ["search"]);
  const named = isJson(search) ? Object.entries(search).filter(([, space]) => isJson(space)) : [];
  return new Set(named.flatMap(([name]) => settingName(name) ?? []));
}

/** Of the spaces that a workload declares for a setting the one whose conditions hold, without them. */
function proposed(field: Json, values: Json): { space?: Json } {
  const holds = (conditions: unknown, wanted: boolean) =>
    Object.entries(isJson(conditions) ? conditions : {}).every(
      ([name, some]) => (Array.isArray(some) && some.includes(values[name] ?? null)) === wanted,
    );
  const spaces = Array.isArray(field.search) ? field.search.filter(isJson) : [];
  const found = spaces.find(({ when, unless }) => holds(when, true) && holds(unless, false));
  if (!found) return {};
  const { when, unless, ...space } = found;
  return { space };
}

/**
 * A method as a variant searches it: settings of the workload that a variant may set are among its parameters.
 * `own`: those that the variant gives, for which the workload may propose other spaces.
 */
export function withSettings(
  algorithm: AlgorithmView,
  schema: unknown,
  given: unknown,
  own?: unknown,
): AlgorithmView {
  const settings = settable(schema, given);
  if (!settings || !isJson(settings.properties)) return algorithm;
  const { properties, $defs } = algorithm.parameters;
  const fields = Object.entries(settings.properties).flatMap(([name, field]) =>
    isJson(field) ? [[name, field] as const] : [],
  );
  const values: Json = {
    ...Object.fromEntries(fields.map(([name, field]) => [name, field.default])),
    ...(isJson(own) ? own : {}),
  };
  const named = fields.map(([name, field]) => [PREFIX + name, { ...field, ...proposed(field, values) }]);
  return {
    ...algorithm,
    parameters: {
      ...algorithm.parameters,
      properties: { ...(isJson(properties) ? properties : {}), ...Object.fromEntries(named) },
      $defs: { ...(isJson(settings.$defs) ? settings.$defs : {}), ...(isJson($defs) ? $defs : {}) },
    },
  };
}
