import { NONE } from "@/lib/format/numbers";
import { settingValue } from "@/lib/format/settings";
import { isJson, type Json, objectsAt, textAt } from "@/lib/json/document";

/** What is not as in another document; undefined: it is not there. */
export interface Change {
  readonly place: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Lists whose members are known by their names. */
const NAMED = ["variants", "clusters"] as const;

const words = (path: readonly string[]) =>
  path
    .filter((part) => part !== "parameters")
    .join(" ")
    .replaceAll("_", " ");

/** Every value with its place; a list is one. */
function leaves(value: unknown, path: readonly string[]): [string, string][] {
  if (!isJson(value)) return [[words(path), settingValue(value)]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]));
}

function compared(before: Json, after: Json, above: readonly string[]): Change[] {
  const [old, now] = [new Map(leaves(before, above)), new Map(leaves(after, above))];
  const places = [...new Set([...old.keys(), ...now.keys()])];
  return places
    .map((place) => ({ place, before: old.get(place), after: now.get(place) }))
    .filter(({ before = NONE, after = NONE }) => before !== after); // what is not there is as what is not given
}

/** The members of a list by name; of equal names the first, as the server refuses these anyway. */
function named(document: Json, list: string): Map<string, Json> {
  const found = new Map<string, Json>();
  for (const item of objectsAt(document, [list])) {
    const name = textAt(item, ["name"]);
    if (!found.has(name)) found.set(name, item);
  }
  return found;
}

/** What one document has differently from another: values, and members of lists that were added or removed. */
export function changesOf(before: Json, after: Json): Change[] {
  const without = (document: Json) =>
    Object.fromEntries(Object.entries(document).filter(([key]) => !NAMED.some((list) => list === key)));
  const lists = NAMED.flatMap((list) => {
    const [old, now] = [named(before, list), named(after, list)];
    return [...new Set([...old.keys(), ...now.keys()])].flatMap((name): Change[] => {
      const [was, is] = [old.get(name), now.get(name)];
      if (was && is) return compared(was, is, [name]);
      const place = `${list.slice(0, -1)} ${name}`;
      return [{ place, before: was && "included", after: is ? "added" : "removed" }];
    });
  });
  return [...compared(without(before), without(after), []), ...lists];
}
