import type { TrailEntryView } from "@/lib/client/types.gen";

/** An operation in words: cancel_run as "cancel run". */
export function actionWords(action: string): string {
  return action.replaceAll("_", " ");
}

/** What an entry says of the state before and after, on one line. */
export function changeWords({ before, after }: Pick<TrailEntryView, "before" | "after">): string {
  const [was, is] = [told(before), told(after)];
  if (was && is) return `${was} → ${is}`;
  return is || (was && `was ${was}`);
}

function told(state: { [name: string]: unknown } | null): string {
  return Object.entries(state ?? {})
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${valueWords(value)}`)
    .join(", ");
}

/** A value as people write it: lists and counts by name without the signs of JSON. */
function valueWords(value: unknown): string {
  if (Array.isArray(value)) return value.length > 0 ? value.map(valueWords).join(", ") : "none";
  if (typeof value === "object" && value !== null) {
    const parts = Object.entries(value).map(([name, one]) => `${name} ${valueWords(one)}`);
    return parts.length > 0 ? parts.join(", ") : "none";
  }
  if (value === true || value === false) return value ? "yes" : "no";
  return value === "" ? "empty" : String(value);
}
