import { quoted } from "./quoted";

/** The filter of experiments for what was typed: a part of the name, or a number. */
export function nameFilter(text: string): string | undefined {
  if (text === "") return undefined;
  const [, hash, digits] = /^(#?)(\d{1,9})$/.exec(text) ?? [];
  const named = `name ~ ${quoted(text)}`;
  if (digits === undefined) return named;
  return hash ? `number = ${digits}` : `number = ${digits} or ${named}`;
}
