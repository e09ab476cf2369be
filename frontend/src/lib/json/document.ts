/** A JSON document and places in it: how the form reads and writes the specification. */
export type Path = readonly (string | number)[];
export type Json = Record<string, unknown>;

export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a place, or undefined. */
export function valueAt(document: unknown, path: Path): unknown {
  let here = document;
  for (const key of path) {
    if (Array.isArray(here) && typeof key === "number") here = here[key];
    else if (isJson(here)) here = here[String(key)];
    else return undefined;
  }
  return here;
}

/** A copy with another value at a place; undefined removes it. Missing objects on the way are made. */
export function withValue<T>(document: T, path: Path, value: unknown): T {
  const [key, ...rest] = path;
  if (key === undefined) return value as T;
  if (Array.isArray(document) && typeof key === "number") {
    const copy: unknown[] = [...document];
    copy[key] = withValue(copy[key], rest, value);
    return copy as T;
  }
  const copy: Json = isJson(document) ? { ...document } : {};
  const next = withValue(copy[String(key)], rest, value);
  if (next === undefined) delete copy[String(key)];
  else copy[String(key)] = next;
  return copy as T;
}

/** The objects of a list at a place; anything else there is left out. */
export function objectsAt(document: unknown, path: Path): Json[] {
  const list = valueAt(document, path);
  return Array.isArray(list) ? list.filter(isJson) : [];
}

export function textAt(document: unknown, path: Path): string {
  const value = valueAt(document, path);
  return typeof value === "string" ? value : "";
}

/** RFC 6901 JSON Pointer of a place. */
export function pointerOf(path: Path): string {
  return path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Id of the control of a place. */
export function fieldId(pointer: string): string {
  return `field${pointer}`;
}
