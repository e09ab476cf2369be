import { isJson, type Json } from "@/lib/json/document";

const KEY = "hooke.drafts";
/** Drafts kept by a tab: of the form, and of experiments that were cloned last. */
const MOST = 8;

/** What was typed and not started yet, by the address at which the form was opened. */
type Drafts = readonly { readonly of: string; readonly document: Json }[];

function isDraft(value: unknown): value is Drafts[number] {
  return isJson(value) && typeof value.of === "string" && isJson(value.document);
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

/** The document that was left unfinished at an address; undefined if there is none. */
export function keptDraft(of: string, storage = sessionStorage): Json | undefined {
  return read(storage).find((draft) => draft.of === of)?.document;
}

/** Keep a document for its address; undefined: keep none. */
export function keepDraft(of: string, document: Json | undefined, storage = sessionStorage): void {
  const others = read(storage).filter((draft) => draft.of !== of);
  write(storage, document ? [{ of, document }, ...others].slice(0, MOST) : others);
}
