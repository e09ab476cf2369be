import { formatNumber, NONE } from "./numbers";

const UNITS = ["J", "kJ", "MJ", "GJ"] as const;

/** Joules in powers of 1,000. */
export function formatJoules(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  let scaled = value;
  let unit = 0;
  while (Math.abs(scaled) >= 1000 && unit < UNITS.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  return `${formatNumber(scaled)} ${UNITS[unit] ?? "J"}`;
}
