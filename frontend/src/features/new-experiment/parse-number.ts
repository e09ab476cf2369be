/** What is typed, as the document holds it: a number; NaN (null in JSON, refused there) for anything else. */
export function parseNumber(text: string): number | undefined {
  const trimmed = text.trim().replace(/(?<=\d)[\s_](?=\d)/g, "");
  return trimmed === "" ? undefined : Number(trimmed);
}
