/** The colour of a trial among others: that of its variant for the best, close to that of the lines for the last. */
export function rankColor(color: string, rank: number | null, ranked: number): string {
  if (rank === null) return "var(--hk-line-2)";
  const share = ranked > 1 ? (rank - 1) / (ranked - 1) : 0;
  return `color-mix(in oklab, ${color} ${Math.round(100 - 82 * share)}%, var(--hk-line-2))`;
}
