import type { Fault } from "@/lib/client/types.gen";
import { pointerOf } from "@/lib/json/document";

/**
 * The control that a fault belongs to, among those on the page: the place itself, else the nearest place around
 * it (a fault in the third of several numbers belongs to the field of all), else the first inside it.
 */
export function nearestField(pointer: string, fields: readonly string[]): string | undefined {
  const known = new Set(fields);
  for (let at = pointer; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    if (known.has(at)) return at;
  }
  return fields.find((field) => field.startsWith(`${pointer}/`));
}

/** Messages by field; faults that belong to no field are only in the summary. */
export function faultsByField(faults: readonly Fault[], fields: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const { pointer, message } of faults) {
    const field = nearestField(pointer, fields);
    if (field === undefined) continue;
    const earlier = found.get(field);
    found.set(field, earlier ? `${earlier}; ${message}` : message);
  }
  return found;
}

/** A place in words: "/variants/0/parameters/rho" is "variant 1, rho". */
export function placeName(pointer: string): string {
  const parts = pointer
    .split("/")
    .slice(1)
    .filter((part) => part !== "parameters" && part !== "virtual");
  const words = parts.map((part, i) => {
    if (/^\d+$/.test(part)) return `${Number(part) + 1}`;
    const next = parts[i + 1];
    return next !== undefined && /^\d+$/.test(next) ? part.replace(/s$/, "") : part.replaceAll("_", " ");
  });
  return words.join(" ").replace(/(\d) (?=\D)/g, "$1, ") || "specification";
}

/** What is wrong with a draft before anybody is asked: numbers that JSON cannot say, and would send as null. */
export function faultsIn(value: unknown, at = ""): Fault[] {
  if (typeof value === "number" && !Number.isFinite(value)) {
    const message = Number.isNaN(value) ? "not a number" : "not a finite number";
    return [{ pointer: at, message }];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => faultsIn(inner, at + pointerOf([key])));
}

/** "Fix 2 problems to start". */
export function fixFirst(count: number): string {
  return `Fix ${count} ${count === 1 ? "problem" : "problems"} to start`;
}
