/** Settings of a document in words. */
import { NONE } from "./numbers";

/** A JSON Pointer as people read it: "/algorithm/parameters/lr" is "algorithm lr". */
export function settingName(pointer: string): string {
  const parts = pointer.split("/").filter((part) => part !== "" && part !== "parameters");
  const names = parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~").replaceAll("_", " "));
  return names.at(-1) === "name" ? names.slice(0, -1).join(" ") : names.join(" ");
}

/** All digits that somebody gave, and no more than six of a computed number. */
function written(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return String(Number(value.toPrecision(6)));
}

/** A value in words; a list, or a mapping, as JSON. */
export function settingValue(value: unknown): string {
  if (value === null || value === undefined) return NONE;
  if (typeof value === "number") return written(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
}
