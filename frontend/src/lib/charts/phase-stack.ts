import { PHASES, type Phase, phasesIn } from "@/lib/theme/palette";

/** Shares of phases, in the order of PHASES, and of communication behind compute, in equal parts of a time. */
export interface Area {
  readonly shares: readonly (readonly number[])[];
  readonly hidden: readonly number[];
}

/** Lower and upper edge of a band in each part, from 0 to 1. */
export type Band = readonly (readonly [number, number])[];

const COMPUTE = PHASES.indexOf("compute");

/** The band of each phase, the first at the bottom; hidden communication covers the top of compute, beside what is exposed. */
export function bandsOf({ shares, hidden }: Area): { phases: Band[]; behind: Band } {
  const levels = hidden.map(() => 0);
  const phases = PHASES.map((_, phase) =>
    levels.map((low, part) => {
      const high = low + (shares[phase]?.[part] ?? 0);
      levels[part] = high;
      return [low, high] as const;
    }),
  );
  const behind = (phases[COMPUTE] ?? []).map(([low, high], part) => {
    return [Math.max(low, high - (hidden[part] ?? 0)), high] as const;
  });
  return { phases, behind };
}

/** The phases that are shown of these; see `phasesIn`. */
export function phasesOver(areas: readonly Pick<Area, "shares">[]): readonly Phase[] {
  const most = areas.map(({ shares }) => shares.map((of) => Math.max(0, ...of)));
  return phasesIn(most.map((of) => Object.fromEntries(PHASES.map((phase, at) => [phase, of[at] ?? 0]))));
}

/** The values of some phases among those of all, in the order of PHASES. */
export const among = <T>(phases: readonly Phase[], values: readonly T[]): T[] =>
  values.filter((_, at) => phases.some((phase) => phase === PHASES[at]));

const y = (level: number) => Number((1 - level).toFixed(4));

/** The outline of a band, in steps: a part is 1 wide, and 1 is the height of all. */
export function areaPath(band: Band): string {
  if (band.length === 0) return "";
  const over = band.map(([, high], part) => `V${y(high)}H${part + 1}`);
  const under = band.map(([low], part) => `V${y(low)}H${part}`).reverse();
  return `M0 ${y(band[0]?.[0] ?? 0)}${over.join("")}${under.join("")}Z`;
}

/** Means over as many pieces of the time as are wanted; parts in which nothing is recorded count to none. */
export function pieces({ shares, hidden }: Area, count: number): { shares: number[]; hidden: number }[] {
  const known = hidden.map((_, part) => part).filter((part) => shares.some((of) => (of[part] ?? 0) > 0));
  const mean = (values: readonly number[], parts: readonly number[]) =>
    parts.length === 0 ? 0 : parts.reduce((sum, part) => sum + (values[part] ?? 0), 0) / parts.length;
  return Array.from({ length: count }, (_, i) => {
    const [from, to] = [i, i + 1].map((end) => Math.round((end * known.length) / count));
    const mine = known.slice(from, to);
    return { shares: shares.map((of) => mean(of, mine)), hidden: mean(hidden, mine) };
  });
}
