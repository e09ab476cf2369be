/** The part of the time that is in view, s. */
export type Window = readonly [start: number, stop: number];

/** The window that the URL asks for; undefined for everything, and for nonsense. */
export function windowFrom(text: unknown): Window | undefined {
  if (typeof text !== "string") return undefined;
  const parts = text.split("_").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  const [start, stop] = parts;
  if (parts.length !== 2 || start === undefined || stop === undefined) return undefined;
  return start >= 0 && stop > start && Number.isFinite(stop) ? [start, stop] : undefined;
}
