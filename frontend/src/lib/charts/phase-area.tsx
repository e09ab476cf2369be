import { PHASES } from "@/lib/theme/palette";
import { HIDDEN } from "./phase-bar";
import { type Area, areaPath, bandsOf } from "./phase-stack";

interface PhaseAreaProps extends Area {
  /** Read out in its place. */
  label: string;
  /** The part that the pointer is in, here or on another one; undefined: none. */
  at: number | undefined;
  point: (part: number | undefined) => void;
}

/** Phases of a run over its time, one on the other: the shares of each part of it. */
export function PhaseArea({ shares, hidden, label, at, point }: PhaseAreaProps) {
  const parts = hidden.length;
  const { phases, behind } = bandsOf({ shares, hidden });
  return (
    <svg
      width="100%"
      height={72}
      viewBox={`0 0 ${parts} 1`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      onPointerMove={({ currentTarget, clientX }) => {
        const { left, width } = currentTarget.getBoundingClientRect();
        const part = Math.floor(((clientX - left) / width) * parts);
        point(Math.min(parts - 1, Math.max(0, part)));
      }}
      onPointerLeave={() => point(undefined)}
    >
      <rect width={parts} height={1} fill="var(--hk-sunken)" />
      {phases.map((band, i) => (
        <path key={PHASES[i]} d={areaPath(band)} fill={`var(--phase-${PHASES[i]})`} />
      ))}
      <path d={areaPath(behind)} fill={HIDDEN} />
      {at !== undefined && (
        <line
          x1={at + 0.5}
          x2={at + 0.5}
          y1={0}
          y2={1}
          stroke="var(--hk-ink)"
          vectorEffect="non-scaling-stroke"
        />
      )}
    </svg>
  );
}
