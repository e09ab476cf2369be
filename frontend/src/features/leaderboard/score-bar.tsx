import type { RankedMethod } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";

const WIDTH = 160;
const HEIGHT = 14;
const EDGE = 5;

/** A score and its interval on the line from 0 to 1; the numbers stand beside it. */
export function ScoreBar({ method, index }: { method: RankedMethod; index: number }) {
  const { color } = variantStyle(index);
  const place = (share: number) => EDGE + share * (WIDTH - 2 * EDGE);
  const middle = HEIGHT / 2;
  return (
    <svg width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <line x1={place(0)} x2={place(1)} y1={middle} y2={middle} stroke="var(--hk-line-2)" />
      {method.low !== null && method.high !== null && (
        <line
          x1={place(method.low)}
          x2={place(method.high)}
          y1={middle}
          y2={middle}
          stroke={color}
          strokeWidth={3}
        />
      )}
      <rect x={place(method.score) - 4} y={middle - 4} width={8} height={8} fill={color} />
    </svg>
  );
}
