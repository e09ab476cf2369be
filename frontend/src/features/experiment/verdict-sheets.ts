import { among, phasesOver } from "@/lib/charts/phase-stack";
import type { Sheet } from "@/lib/charts/sheet-table";
import type { PhasesRow } from "@/lib/client/types.gen";
import { formatCount, formatNumber, formatPercent, formatRatio, NONE } from "@/lib/format/numbers";
import { estimated } from "@/lib/format/ratios";
import { formatSeconds } from "@/lib/format/time";
import { PHASES, phasesIn } from "@/lib/theme/palette";
import { claimOf } from "./claim";
import type { Group } from "./groups";

/** The forest plot in figures: the ratio of each variant to the baseline, the ends of its interval, and what is claimed. */
export function forestSheet({ rows }: Pick<Group, "rows">): Sheet {
  return {
    head: ["Variant", "Speed-up", "From", "To", "Claim", "p, corrected", "Seeds", "Without the target"],
    rows: rows.map(({ variant, speed_up: found }) => {
      const { claim, low, high, p_adjusted, pairs, censored } = found;
      if (claim === "baseline") return [variant, "1×", NONE, NONE, "baseline", NONE, NONE, NONE];
      const ends = claim === "no claim" ? [NONE, NONE] : [formatRatio(low), formatRatio(high)];
      const behind = [formatNumber(p_adjusted, 2), formatCount(pairs), formatCount(censored)];
      return [variant, formatRatio(estimated(found)), ...ends, claimOf(found), ...behind];
    }),
  };
}

/** The bars of phases in figures: shares of wall time, and beside them the communication fraction and what was hidden. */
export function phasesSheet({ rows }: Pick<Group, "rows">): Sheet {
  const shown = phasesIn(rows.map(({ phases }) => phases));
  return {
    head: ["Variant", ...shown, "communication fraction", "hidden"],
    rows: rows.map(({ variant, phases, communication_fraction, hidden }) => {
      const whole = PHASES.reduce((sum, phase) => sum + (phases[phase] ?? 0), 0);
      const shares = shown.map((phase) => (whole > 0 ? formatPercent((phases[phase] ?? 0) / whole) : NONE));
      return [variant, ...shares, formatPercent(communication_fraction.mean), formatSeconds(hidden.mean)];
    }),
  };
}

/** Phases over time in figures: a row for each part of the time in which a variant recorded something. */
export function overTimeSheet(rows: readonly PhasesRow[]): Sheet {
  const shown = phasesOver(rows);
  return {
    head: ["Variant", "From", "To", ...shown, "communicate, hidden"],
    rows: rows.flatMap(({ variant, shares, hidden, span }) =>
      hidden.flatMap((behind, part) => {
        const mine = shares.map((of) => of[part] ?? 0);
        if (mine.every((share) => share === 0)) return [];
        const ends = [part, part + 1].map((end) => formatSeconds((end / hidden.length) * span));
        return [[variant, ...ends, ...[...among(shown, mine), behind].map((share) => formatPercent(share))]];
      }),
    ),
  };
}
