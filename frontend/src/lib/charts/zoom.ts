/** The part of the horizontal axis that is in view. */
export type Zoom = readonly [number, number];

/** A zoom as the URL holds it: "1.5_3.25". */
export function zoomText([from, to]: Zoom): string {
  return `${Number(from.toPrecision(6))}_${Number(to.toPrecision(6))}`;
}

/** The zoom that the URL asks for; undefined for everything, and for nonsense. */
export function zoomFrom(text: string | undefined): Zoom | undefined {
  const [from, to, ...more] = (text ?? "")
    .split("_")
    .map((part) => (part === "" ? Number.NaN : Number(part)));
  if (from === undefined || to === undefined || more.length > 0) return undefined;
  return Number.isFinite(from) && Number.isFinite(to) && from < to ? [from, to] : undefined;
}
