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
  const words = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  return Object.entries(state ?? {})
    .map(([name, value]) => `${name} ${words(value)}`)
    .join(", ");
}
