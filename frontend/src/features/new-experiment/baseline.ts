import { type Json, objectsAt, textAt } from "@/lib/json/document";

/**
 * The form knows the baseline by its place among the variants, a document by its name. A name would not do while it
 * is being typed: a variant whose name passes through that of the baseline would become the baseline.
 */
export function withPlacedBaseline(document: Json): Json {
  const names = objectsAt(document, ["variants"]).map((variant) => textAt(variant, ["name"]));
  const at = typeof document.baseline === "string" ? names.indexOf(document.baseline) : -1;
  return at < 0 ? document : { ...document, baseline: at };
}

/** The document that a draft stands for. */
export function withNamedBaseline(draft: Json): Json {
  if (typeof draft.baseline !== "number") return draft;
  return { ...draft, baseline: textAt(draft, ["variants", draft.baseline, "name"]) };
}

/** The place of the baseline after a variant has been put at a place. */
export function afterInsertion(draft: Json, index: number): unknown {
  const { baseline } = draft;
  return typeof baseline === "number" && baseline >= index ? baseline + 1 : baseline;
}

/** The place of the baseline after the variant at a place has been removed; the first one takes over from it. */
export function afterRemoval(draft: Json, index: number): unknown {
  const { baseline } = draft;
  if (typeof baseline !== "number" || baseline < index) return baseline;
  return baseline === index ? 0 : baseline - 1;
}
