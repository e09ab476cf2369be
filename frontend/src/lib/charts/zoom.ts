/** The part of the horizontal axis that is in view. */
export type Zoom = readonly [number, number];

/** A zoom as the URL holds it, "1.5_3.25": each end with six digits more than tell it from the other one. */
export function zoomText([from, to]: Zoom): string {
  const shared = Math.floor(Math.log10(Math.max(Math.abs(from), Math.abs(to)) / (to - from)));
  const digits = Math.min(15, 6 + Math.max(0, shared));
  return `${Number(from.toPrecision(digits))}_${Number(to.toPrecision(digits))}`;
}

/** The zoom that the URL asks for; undefined for everything, and for nonsense. */
export function zoomFrom(text: string | undefined): Zoom | undefined {
  const [from, to, ...more] = (text ?? "")
    .split("_")
    .map((part) => (part === "" ? Number.NaN : Number(part)));
  if (from === undefined || to === undefined || more.length > 0) return undefined;
  return Number.isFinite(from) && Number.isFinite(to) && from < to ? [from, to] : undefined;
}
