import type { BestCurve as Curve } from "@/lib/client/types.gen";
import { lookOf } from "@/lib/format/quantities";
import { formatSeconds } from "@/lib/format/time";
import { variantStyle } from "@/lib/theme/palette";
import styles from "./experiments.module.css";

const WIDTH = 112;
const HEIGHT = 36;
/** Room for half of the line's width, and for the dot at its end. */
const EDGE = 3;

/** The values as points of the picture, from its left to its right edge; the target, if any, is within its height. */
export function pointsOf({ values, target }: Pick<Curve, "values" | "target">): {
  points: (readonly [number, number])[];
  targetAt: number | null;
} {
  const shown = target === null ? values : [...values, target];
  const low = Math.min(...shown);
  const range = Math.max(...shown) - low;
  const x = (n: number) => EDGE + (n * (WIDTH - 2 * EDGE)) / Math.max(1, values.length - 1);
  const y = (value: number) =>
    range > 0 ? HEIGHT - EDGE - ((value - low) * (HEIGHT - 2 * EDGE)) / range : HEIGHT / 2;
  return {
    points: values.map((value, n) => [x(n), y(value)] as const),
    targetAt: target === null ? null : y(target),
  };
}

/** What the picture shows, in words. */
export function described(curve: Curve): string {
  const { title, format } = lookOf(curve.metric);
  const span = `${format(curve.values[0])} to ${format(curve.values.at(-1))} in ${formatSeconds(curve.seconds)}`;
  const target = curve.target === null ? "" : `, target ${format(curve.target)}`;
  const seeds = curve.seeds === 1 ? "1 seed" : `median of ${curve.seeds} seeds`;
  return `${title} of ${curve.variant} on ${curve.cluster}: ${span}${target}; ${seeds}${curve.simulated ? ", simulated" : ""}`;
}

const rounded = (value: number) => Number(value.toFixed(1));

/** The judged metric of the best variant over train-clock time. Its place is kept where there is none. */
export function BestCurve({
  curve,
  index,
}: {
  curve: Curve | null | undefined;
  /** Of the variant, for its colour. */
  index: number;
}) {
  if (!curve || curve.values.length === 0) return <div className={styles.curve} />;
  const { points, targetAt } = pointsOf(curve);
  const { color, dash } = variantStyle(index);
  const [endX, endY] = points.at(-1) ?? [0, 0];
  return (
    <div className={styles.curve} role="img" aria-label={described(curve)} data-testid="best-curve">
      <svg width={WIDTH} height={HEIGHT} aria-hidden="true">
        {targetAt !== null && (
          <line
            x1={0}
            x2={WIDTH}
            y1={rounded(targetAt)}
            y2={rounded(targetAt)}
            stroke="var(--hk-line-2)"
            strokeDasharray="3 3"
          />
        )}
        <polyline
          points={points.map(([x, y]) => `${rounded(x)},${rounded(y)}`).join(" ")}
          fill="none"
          stroke={color}
          strokeWidth={1.75}
          strokeDasharray={dash.join(" ")}
          strokeLinejoin="round"
        />
        <circle cx={endX} cy={rounded(endY)} r={2.5} fill={color} />
      </svg>
    </div>
  );
}
