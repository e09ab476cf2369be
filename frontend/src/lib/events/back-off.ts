const FIRST_DELAY = 500; // ms
const LONGEST_DELAY = 30_000; // ms

/** Delay before try number `failures`, ms: doubling, capped, with jitter so that tabs do not return as one. */
export function backOff(failures: number, random: number): number {
  return Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** Math.min(failures, 10)) * (0.5 + random / 2);
}
