import type { PhaseTotals } from "@/lib/client/types.gen";
import { PHASES, type Phase, phasesIn } from "@/lib/theme/palette";

/** Distance from the median from which on a share stands out. */
export const APART = 0.05;

/** Strength of the colour of a whole, so that figures on it can be read in both schemes. */
const STRONGEST = 44;

/** Per cent of the colour of a phase for a share: more for more. */
export const strength = (share: number): number => Math.round(STRONGEST * Math.sqrt(Math.max(0, share)));

/** The share of one phase in a rank's wall time. */
export interface HeatCell {
  readonly phase: Phase;
  readonly share: number;
  /** Whether it differs from the median of the ranks of its role by more than APART. */
  readonly apart: boolean;
}

export interface HeatRow {
  readonly rank: number;
  readonly role: string;
  readonly cells: readonly HeatCell[];
}

/** Seconds of a rank in each phase. */
export const secondsOf = (rank: PhaseTotals): Record<Phase, number> =>
  Object.fromEntries(PHASES.map((phase) => [phase, rank[phase]])) as Record<Phase, number>;

/** The shares of all phases of all ranks; ranks without any time have zeros. */
export function heatRows(ranks: readonly PhaseTotals[]): HeatRow[] {
  const shown = phasesIn(ranks.map(secondsOf));
  const shares = ranks.map((rank) => {
    const whole = PHASES.reduce((sum, phase) => sum + rank[phase], 0);
    return shown.map((phase) => (whole > 0 ? rank[phase] / whole : 0));
  });
  return ranks.map((rank, i) => {
    const alike = shares.filter((_, k) => ranks[k]?.role === rank.role);
    return {
      rank: rank.rank,
      role: rank.role,
      cells: shown.map((phase, p) => {
        const share = shares[i]?.[p] ?? 0;
        const usual = median(alike.map((each) => each[p] ?? 0));
        return { phase, share, apart: alike.length > 2 && Math.abs(share - usual) > APART };
      }),
    };
  });
}

/** The middle of some numbers; of an even count, the mean of both. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? 0) + upper) / 2;
}
