/** A space within a number parts thousands; "4 16 64" are several numbers, not 41664. */
const THOUSANDS = /(?<=\d)[\s_](?=\d{3}(?!\d))/g;

/** What is typed, as the document holds it: a number; NaN (null in JSON, refused there) for anything else. */
export function parseNumber(text: string): number | undefined {
  const trimmed = text.trim().replace(THOUSANDS, "");
  return trimmed === "" ? undefined : Number(trimmed);
}

/** A number as people would type it: with an exponent where the digits would have to be counted. */
export function numberText(value: number): string {
  const size = Math.abs(value);
  const plain = String(value);
  if (size >= 1e-4 && size < 1e9) return plain;
  const short = value.toExponential().replace("e+", "e");
  return short.length < plain.length ? short : plain;
}
