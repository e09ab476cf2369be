import type { SpeedUp } from "@/lib/client/types.gen";
import { formatNumber } from "@/lib/format/numbers";
import { estimated } from "@/lib/format/ratios";
import { variantStyle } from "@/lib/theme/palette";

/** Of a plot in a table, and of the one of the verdict, px. */
const WIDTH = 130;
export const WIDE = 280;
const HEIGHT = 24;
const EDGE = 8;

export type Domain = readonly [number, number];

const ROOM = 1.08;
/** Intervals that reach farther are cut, with an arrow: one seed pair of three makes them as wide as it likes. */
const WIDEST_INTERVAL = Math.log(20);

const distance = (value: number | null) => (value === null || value <= 0 ? [] : [Math.abs(Math.log(value))]);

/** A range of logs, symmetric about 1, that holds every ratio of the group, and its intervals up to 20 times. */
export function forestDomain(values: readonly SpeedUp[]): Domain {
  const ratios = values.flatMap((value) => distance(estimated(value)));
  const ends = values
    .filter(({ claim }) => claim !== "no claim")
    .flatMap(({ low, high }) => [...distance(low), ...distance(high)]);
  const farthest = Math.max(Math.log(1.5), ...ratios);
  const reach = ROOM * Math.max(farthest, Math.min(WIDEST_INTERVAL, Math.max(0, ...ends)));
  return [-reach, reach];
}

const ROUND = [1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000, 1e6];

/** The greatest of the round ratios that is not beyond a log; the least one if all are. */
const roundTo = (log: number) => ROUND.findLast((value) => Math.log(value) <= log) ?? 1.2;

/** Ratios that the axis names: 1, and the greatest round one within, with its reciprocal; on a wide axis, those halfway, too. */
export function forestTicks(domain: Domain, width = WIDTH): number[] {
  const most = roundTo(domain[1] * 0.93);
  const half = roundTo(Math.log(most) * 0.6);
  const between = width > WIDTH && half < most;
  return between ? [1 / most, 1 / half, 1, half, most] : [1 / most, 1, most];
}

/** Where a ratio lies on the log axis, px; what lies outside is drawn at its edge. */
export function placeOn(domain: Domain, width: number) {
  return (value: number) => {
    const at = (Math.log(value) - domain[0]) / (domain[1] - domain[0]);
    return EDGE + Math.min(1, Math.max(0, at)) * (width - 2 * EDGE);
  };
}

/** Half the width of a digit of the scale, px, in a wide font. */
const HALF_DIGIT = 3.4;

/** The middle of a label at x, moved so that none of it lies outside. */
export function within(x: number, label: string, width = WIDTH): number {
  const half = label.length * HALF_DIGIT;
  return Math.min(width - half, Math.max(half, x));
}

/** The scale above a forest plot. */
export function ForestAxis({ domain, width = WIDTH }: { domain: Domain; width?: number }) {
  const place = placeOn(domain, width);
  return (
    <svg width={width} height={14} aria-hidden="true" data-testid="forest-axis">
      {forestTicks(domain, width).map((tick) => (
        <text
          key={tick}
          x={within(place(tick), `${formatNumber(tick, 2)}×`, width)}
          y={10}
          textAnchor="middle"
          fontSize={10.5}
          fill="var(--hk-ink-2)"
        >
          {formatNumber(tick, 2)}×
        </text>
      ))}
    </svg>
  );
}

/** The interval as it is drawn: its ends, px, and whether it goes on beyond them; undefined: there is none. */
export function spanOf({ claim, ratio, low, high }: SpeedUp, domain: Domain, width: number) {
  if (claim === "baseline" || claim === "no claim" || ratio === null) return undefined;
  if (low === null && high === null) return undefined;
  const place = placeOn(domain, width);
  return {
    start: low === null ? EDGE : place(low),
    end: high === null ? width - EDGE : place(high),
    below: low === null || Math.log(low) < domain[0],
    beyond: high === null || Math.log(high) > domain[1],
  };
}

interface ForestProps {
  speedUp: SpeedUp;
  domain: Domain;
  index: number;
  width?: number;
  /** Not read out: words beside it say the same. */
  mute?: boolean;
}

/**
 * One row of a forest plot: the ratio and its interval on a log axis, with a rule at 1 (no difference). An arrow says
 * that the interval goes on beyond the axis.
 */
export function Forest({ speedUp, domain, index, width = WIDTH, mute }: ForestProps) {
  const { color } = variantStyle(index);
  const place = placeOn(domain, width);
  const { claim } = speedUp;
  const ratio = estimated(speedUp);
  const middle = HEIGHT / 2;
  const span = spanOf(speedUp, domain, width);
  return (
    <svg
      width={width}
      height={HEIGHT}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role="img"
      aria-label={speedUp.sentence}
      aria-hidden={mute}
    >
      {!mute && <title>{speedUp.sentence}</title>}
      {forestTicks(domain, width).map((tick) => (
        <line
          key={tick}
          x1={place(tick)}
          x2={place(tick)}
          y1={0}
          y2={HEIGHT}
          stroke={tick === 1 ? "var(--hk-line-2)" : "var(--hk-line)"}
        />
      ))}
      {claim === "baseline" && <circle cx={width / 2} cy={middle} r={3} fill="var(--hk-ink-3)" />}
      {span && <line x1={span.start} x2={span.end} y1={middle} y2={middle} stroke={color} strokeWidth={2} />}
      {span?.below && <Arrow x={EDGE} y={middle} color={color} to={-1} />}
      {span?.beyond && <Arrow x={width - EDGE} y={middle} color={color} to={1} />}
      {claim !== "baseline" && ratio !== null && (
        <rect x={place(ratio) - 4} y={middle - 4} width={8} height={8} fill={color} />
      )}
    </svg>
  );
}

/** The path of an arrow whose tip points left or right. */
export const arrow = (x: number, y: number, to: 1 | -1) => `M${x} ${y - 4} l${6 * to} 4 l${-6 * to} 4`;

function Arrow({ x, y, color, to }: { x: number; y: number; color: string; to: 1 | -1 }) {
  return <path d={arrow(x, y, to)} fill="none" stroke={color} strokeWidth={2} />;
}
