import type { ChartSeries } from "@/lib/charts/series";
import type { Board, RankedMethod } from "@/lib/client/types.gen";
import { apart } from "@/lib/theme/apart";
import { variantStyle } from "@/lib/theme/palette";

/** Distance in tau at which the two ends of a jump are drawn: a chart has one value at each x. */
const JUMP = 1e-6;
/** Height by which curves are moved apart, because steps lie on one another; all of them stay within `most`. */
const APART = 0.009;

/** The largest move of a curve: less than a step, so that a height tells its share. */
function most(workloads: number): number {
  return Math.min(0.06, 0.9 / Math.max(1, workloads));
}

/**
 * The profile of a method as a curve in a colour, moved down a little: its value at the corners of all profiles, and a
 * second end at its own jumps.
 */
function profileSeries(method: RankedMethod, taus: readonly number[], look: Look): ChartSeries {
  const x: number[] = [];
  const exact: number[] = [];
  const bends: boolean[] = [];
  const push = (tau: number, rho: number, bend: boolean) => {
    x.push(tau);
    exact.push(rho);
    bends.push(bend);
  };
  for (const tau of taus) {
    const after = method.rho[method.tau.findLastIndex((each) => each <= tau)] ?? 0;
    const before = method.rho[method.tau.findLastIndex((each) => each < tau)] ?? after; // it begins with its value at 1
    if (before !== after) push(tau - JUMP, before, true);
    push(tau, after, false);
  }
  const y = exact.map((rho) => rho - look.down);
  return { label: look.label, style: variantStyle(look.index), x, y, exact, bends };
}

interface Look {
  readonly label: string;
  readonly index: number;
  readonly down: number;
}

/** The share of workloads that a height stands for. */
export function shareAt(height: number, workloads: number): number {
  return Math.round(Math.max(0, height + most(workloads) / 2) * workloads) / workloads;
}

/** The places of the methods of all boards by name, which decide their colours: a method has the same one whatever its rank. */
export function colorsOf(boards: readonly Board[]): (algorithm: string) => number {
  const methods = boards.flatMap((board) => board.methods);
  const order = [...new Set(methods.map(({ algorithm }) => algorithm))].sort();
  const wanted = order.map((name, at) => methods.find(({ algorithm }) => algorithm === name)?.color ?? at);
  const places = apart(wanted);
  return (algorithm) => places[order.indexOf(algorithm)] ?? 0;
}

/** All profiles of a board, each a little below the one before. */
export function allProfiles(
  methods: readonly RankedMethod[],
  title: (name: string) => string,
  workloads: number,
  colorOf: (algorithm: string) => number,
): ChartSeries[] {
  const step = Math.min(APART, most(workloads) / Math.max(1, methods.length));
  const taus = [...new Set(methods.flatMap(({ tau }) => tau))].sort((a, b) => a - b);
  return methods.map((method, index) =>
    profileSeries(method, taus, {
      label: title(method.algorithm),
      index: colorOf(method.algorithm),
      down: index * step,
    }),
  );
}
