import type { ChartSeries } from "@/lib/charts/series";
import type { Calibration, Curve } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";

/** Half the height of a band in standard errors. */
const INTERVAL = 1.96;
const FITTED_DASH: readonly number[] = [5, 4];

/** `all-reduce, tree`, as in the table of the command line. */
export function curveName({ kind, collective }: Curve): string {
  return collective ? `${kind}, ${collective}` : kind;
}

/** Messages and bytes that a line counts for an operation of this many ranks: those of rank 0's rounds. */
export function critical(
  { kind, collective }: Curve,
  ranks: number,
  bytes: number,
): { messages: number; size: number } {
  const whole = 2 ** Math.floor(Math.log2(ranks));
  const levels = Math.log2(whole);
  const sums = kind === "all-reduce" || kind === "background";
  const beside = sums && collective !== "ring" && ranks > whole ? 2 : 0;
  if (sums && collective === "tree") {
    return { messages: 2 * levels + beside, size: (2 * levels + beside) * bytes };
  }
  if (sums && collective === "halving") {
    return { messages: 2 * levels + beside, size: ((2 * (whole - 1)) / whole + beside) * bytes };
  }
  if (sums && collective === "ring") {
    return { messages: 2 * (ranks - 1), size: ((2 * (ranks - 1)) / ranks) * bytes };
  }
  if (kind === "all-gather") {
    return { messages: ranks === whole ? levels : ranks - 1, size: ((ranks - 1) / ranks) * bytes };
  }
  return { messages: 1, size: bytes };
}

/** Measured times with 1.96 standard errors, and the fitted line, on logarithmic axes (decimal logarithms). */
export function curveSeries(curves: readonly Curve[]): ChartSeries[] {
  return curves.flatMap((curve, index) => {
    const ranks = Math.max(...curve.points.map((point) => point.ranks ?? 2));
    const first = curve.points.find((point) => (point.ranks ?? 2) === ranks)?.pair;
    const points = curve.points
      .filter((point) => (point.ranks ?? 2) === ranks && samePair(point.pair, first) && point.seconds > 0)
      .toSorted((a, b) => a.bytes - b.bytes);
    const style = variantStyle(index);
    const x = points.map((point) => Math.log10(point.bytes));
    const at = (seconds: number) => Math.log10(Math.max(seconds, 1e-9));
    const measured: ChartSeries = {
      label: curveName(curve),
      style,
      x,
      y: points.map((point) => at(point.seconds)),
      low: points.map((point) => at(Math.max(point.seconds - INTERVAL * point.error, point.seconds / 10))),
      high: points.map((point) => at(point.seconds + INTERVAL * point.error)),
    };
    const line = curve.line;
    if (!line || points.length < 2) return [measured];
    const fitted = between(x).map((value) => {
      const { messages, size } = critical(curve, ranks, 10 ** value);
      return at(line.alpha * messages + line.beta * size);
    });
    return [
      measured,
      {
        label: `${curveName(curve)}, fitted`,
        style: { ...style, dash: FITTED_DASH },
        x: between(x),
        y: fitted,
        faint: true,
      },
    ];
  });
}

/** Curves of messages, of memory and windows, and of operations of all ranks. */
export function grouped({ curves }: Calibration): { messages: Curve[]; memory: Curve[]; together: Curve[] } {
  const messages = curves.filter(({ kind }) => kind === "message" || kind === "stream");
  const together = curves.filter(({ kind }) => ["all-reduce", "all-gather", "background"].includes(kind));
  const memory = curves.filter((curve) => !messages.includes(curve) && !together.includes(curve));
  return { messages, memory, together };
}

/** Values from the first to the last one, closely enough for a bent line: a straight one is bent on these axes. */
function between(x: readonly number[]): number[] {
  const [low, high] = [Math.min(...x), Math.max(...x)];
  return Array.from({ length: 41 }, (_, i) => low + ((high - low) * i) / 40);
}

function samePair(
  one: readonly number[] | null | undefined,
  other: readonly number[] | null | undefined,
): boolean {
  return (one ?? []).join() === (other ?? []).join();
}
