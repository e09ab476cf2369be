const PLAIN = /^[\p{L}\p{N}_][\p{L}\p{N}_.:+-]*$/u;
const WORDS = new Set(["and", "or", "not", "in"]);

/** A value as a filter takes it: in quotes unless it is a plain word. */
export function quoted(value: string): string {
  if (PLAIN.test(value) && !WORDS.has(value.toLowerCase())) return value;
  return `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
}
