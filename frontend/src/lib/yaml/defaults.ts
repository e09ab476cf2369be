import { isJson, type Json, type Path } from "@/lib/json/document";
import type { Knowledge } from "./propose";
import { type Property, propertiesOf, shapesAt, takesNull } from "./shapes";

/** Written also where they are the defaults: what is changed most, and what an experiment says of itself. */
const ALWAYS = new Set(["schema", "batch", "metric", "seeds", "workers", "latency", "seconds_per_byte"]);

/** Mappings whose keys somebody has chosen: null, or a workload's default, is another thing there than nothing. */
const CHOSEN = new Set(["search", "spaces", "sweep", "unless", "when", "workload_settings"]);

/** Whether a place is that of the parameters of a variant, or of the workload. */
const ofParameters = ([list, at, part, ...further]: Path) =>
  (list === "workload" && at === "parameters" && part === undefined) ||
  (list === "variants" && part === "parameters" && further.length === 0);

/**
 * A document without what it would have if it did not say so. `tuned`: all named parameters stay. Those that a variant does not
 * name are searched, and trials are continued where the workload names what it named.
 */
export function withoutDefaults(
  document: Json,
  { root, shape }: Knowledge,
  tuned: boolean = isJson(document.tuning),
): Json {
  const bare = (value: unknown, path: Path): unknown => {
    if (Array.isArray(value)) return value.map((each, i) => bare(each, [...path, i]));
    if (!isJson(value)) return value;
    const chosen = CHOSEN.has(String(path.at(-1))) || (tuned && ofParameters(path));
    const known = chosen ? [] : propertiesOf(shapesAt(root, path, (place) => shape(place, document)));
    const left = Object.entries(value).flatMap(([key, inner]) => {
      const said = bare(inner, [...path, key]);
      const mine = ALWAYS.has(key) ? [] : known.filter(({ name }) => name === key);
      const inside = (other: unknown) => bare(other, [...path, key]);
      const unsaid = mine.length > 0 && mine.every((one) => isDefault(one, said, inside));
      return unsaid ? [] : [[key, said]];
    });
    return Object.fromEntries(left);
  };
  return bare(document, []) as Json;
}

/** Whether a value, without what it would have unsaid, is what there is if nothing is given. */
function isDefault({ required, shape }: Property, said: unknown, bare: (value: unknown) => unknown): boolean {
  if (required) return false;
  if ("default" in shape.schema) return JSON.stringify(bare(shape.schema.default)) === JSON.stringify(said);
  // a schema of the API names neither null as a default nor what is made of nothing
  return said === null ? takesNull(shape) : isNothing(said) && !takesNull(shape);
}

function isNothing(value: unknown): boolean {
  return (Array.isArray(value) || isJson(value)) && Object.keys(value).length === 0;
}
