import { isJson, type Json } from "@/lib/json/document";
import type { Typed } from "./typed";

const KEY = "hooke.drafts";
/** Drafts kept by a tab: of the form, and of experiments that were cloned last. */
const MOST = 8;

/** A text that was typed, whether it can be read or not. */
type Text = Omit<Typed, "of">;

interface Draft {
  readonly document: Json;
  readonly typed?: Text;
}

/** What was typed and not started yet, by the address at which the form was opened. */
type Drafts = readonly (Draft & { readonly of: string })[];

function isText(value: unknown): value is Text {
  if (!isJson(value) || (value.as !== "json" && value.as !== "yaml") || typeof value.text !== "string")
    return false;
  return value.problem === undefined || typeof value.problem === "string";
}

function isDraft(value: unknown): value is Drafts[number] {
  if (!isJson(value) || typeof value.of !== "string" || !isJson(value.document)) return false;
  return value.typed === undefined || isText(value.typed);
}

function read(storage: Storage): Drafts {
  try {
    const found: unknown = JSON.parse(storage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter(isDraft) : [];
  } catch {
    return [];
  }
}

function write(storage: Storage, drafts: Drafts): void {
  try {
    storage.setItem(KEY, JSON.stringify(drafts));
  } catch {
    // a full or forbidden storage keeps no draft, and the form works as well
  }
}

/** What was left unfinished at an address; undefined if there is nothing. */
export function keptDraft(of: string, storage = sessionStorage): Draft | undefined {
  return read(storage).find((draft) => draft.of === of);
}

/** Keep a draft for its address; undefined: keep none. */
export function keepDraft(of: string, draft: Draft | undefined, storage = sessionStorage): void {
  const others = read(storage).filter((other) => other.of !== of);
  write(storage, draft ? [{ of, ...draft }, ...others].slice(0, MOST) : others);
}
