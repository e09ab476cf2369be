import type { Json } from "@/lib/json/document";

/** What was typed as text: in which language, of which draft, and why it cannot be one, if so. */
export interface Typed {
  readonly as: "json" | "yaml";
  readonly text: string;
  readonly problem?: string;
  readonly of: Json;
}

/** The text that somebody is typing in this language, unless the draft has changed since otherwise. */
export function typedAs(as: Typed["as"], typed: Typed | undefined, draft: Json): Typed | undefined {
  if (typed?.as !== as) return undefined;
  return typed.problem !== undefined || typed.of === draft ? typed : undefined;
}
