import type { SpeedUp } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";

const WIDTH = 130;
const HEIGHT = 24;
const EDGE = 8;

export type Domain = readonly [number, number];

/** A range of logs, symmetric about 1, that holds every interval of the group. */
export function forestDomain(values: readonly SpeedUp[]): Domain {
  const shown = values.filter((value) => value.claim !== "no claim");
  const logs = shown.flatMap(({ low, ratio, high }) =>
    [low, ratio, high]
      .filter((value) => value !== null && value > 0)
      .map((value) => Math.abs(Math.log(value ?? 1))),
  );
  const reach = Math.min(Math.log(20), Math.max(Math.log(1.5), ...logs) * 1.08);
  return [-reach, reach];
}

/**
 * One row of a forest plot: the ratio and its interval on a log axis, with a rule at 1 (no difference). An arrow says
 * that the interval goes on beyond the axis.
 */
export function Forest({ speedUp, domain, index }: { speedUp: SpeedUp; domain: Domain; index: number }) {
  const { color } = variantStyle(index);
  const place = (value: number) => {
    const at = (Math.log(value) - domain[0]) / (domain[1] - domain[0]);
    return EDGE + Math.min(1, Math.max(0, at)) * (WIDTH - 2 * EDGE);
  };
  const { ratio, low, high, claim } = speedUp;
  const middle = HEIGHT / 2;
  const below = low === null ? high !== null : Math.log(low) < domain[0];
  const beyond = high === null ? low !== null : Math.log(high) > domain[1];
  const start = low === null ? EDGE : place(low);
  const end = high === null ? WIDTH - EDGE : place(high);
  return (
    <svg width={WIDTH} height={HEIGHT} role="img" aria-label={speedUp.sentence}>
      <title>{speedUp.sentence}</title>
      <line x1={WIDTH / 2} x2={WIDTH / 2} y1={0} y2={HEIGHT} stroke="var(--hk-line-2)" />
      {claim === "baseline" && <circle cx={WIDTH / 2} cy={middle} r={3} fill="var(--hk-ink-3)" />}
      {claim !== "baseline" && ratio !== null && (
        <>
          {claim !== "no claim" && (low !== null || high !== null) && (
            <line x1={start} x2={end} y1={middle} y2={middle} stroke={color} strokeWidth={2} />
          )}
          {claim !== "no claim" && below && <Arrow x={EDGE} y={middle} color={color} to={-1} />}
          {claim !== "no claim" && beyond && <Arrow x={WIDTH - EDGE} y={middle} color={color} to={1} />}
          <rect x={place(ratio) - 4} y={middle - 4} width={8} height={8} fill={color} />
        </>
      )}
    </svg>
  );
}

function Arrow({ x, y, color, to }: { x: number; y: number; color: string; to: 1 | -1 }) {
  return <path d={`M${x} ${y - 4} l${6 * to} 4 l${-6 * to} 4`} fill="none" stroke={color} strokeWidth={2} />;
}
