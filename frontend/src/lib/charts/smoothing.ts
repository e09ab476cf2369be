/** Of all points of a curve, those that count to one mean, in percent: what the slider goes to. */
export const MOST_SMOOTH = 50;
/** Of an address that says no more than that curves are smoothed. */
const USUAL = 4;

/** The strength that an address asks for, in percent of the points; undefined: as measured. */
export function smoothingIn(value: unknown): number | undefined {
  if (value === "yes") return USUAL;
  if (typeof value !== "number" || !(value >= 1)) return undefined;
  return Math.min(Math.round(value), MOST_SMOOTH);
}
