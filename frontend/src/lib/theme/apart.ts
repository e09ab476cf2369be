import { DASHES, VARIANT_LIGHT } from "./palette";

/** How many styles there are. */
const STYLES = VARIANT_LIGHT.length * DASHES.length;

/** Places that differ: one that is taken by an earlier one gives way to the first that is free, as far as there are any. */
export function apart(places: readonly number[]): number[] {
  const taken = new Set<number>();
  return places.map((wanted) => {
    let place = wanted;
    for (let next = 0; taken.has(place % STYLES) && next < STYLES; next += 1) place = next;
    taken.add(place % STYLES);
    return place;
  });
}
