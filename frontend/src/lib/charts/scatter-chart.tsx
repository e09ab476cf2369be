import type { ReactNode } from "react";
import { DrawingMenu } from "./drawing-menu";
import type { Sheet } from "./sheet-table";
import { linearTicks, type Mark } from "./space-scale";
import { tickTexts } from "./tick-texts";
import styles from "./trial-charts.module.css";
import { useWidth } from "./use-width";

/** One trial: where it stands, and what it has shown. */
export interface ScatterPoint {
  readonly key: number;
  /** Share of the width. */
  readonly x: number;
  /** Null: it has no figure, and stands in the strip at the top. */
  readonly y: number | null;
  readonly color: string;
  readonly look: "usual" | "chosen" | "missed" | "failed";
  /** What the pointer is told. */
  readonly words: string;
}

interface ScatterChartProps {
  readonly title: ReactNode;
  /** What a screen reader says. */
  readonly label: string;
  readonly points: readonly ScatterPoint[];
  readonly xTitle: string;
  readonly xMarks: readonly Mark[];
  /** The unit, at the head of the axis. */
  readonly yTitle: string;
  readonly tickY: (value: number) => string;
  /** What is said while there is no point. */
  readonly empty: string;
  /** What points in the strip have in common. */
  readonly stripTitle: string;
  readonly marked: number | undefined;
  readonly mark: (key: number | undefined) => void;
  readonly sheet: () => Sheet;
  readonly testId?: string;
}

const HEIGHT = 300;
const EDGE = { left: 62, right: 14, top: 22, bottom: 44 };
const STRIP = 32;

/** Points over a parameter; those without a figure stand apart, in a strip above all others. */
export function ScatterChart(props: ScatterChartProps) {
  const { points, title, label, xMarks, xTitle, yTitle, tickY, stripTitle, empty, testId } = props;
  const [host, width] = useWidth<HTMLDivElement>();
  const without = points.some((point) => point.y === null);
  const top = EDGE.top + (without ? STRIP + 8 : 0);
  const bottom = HEIGHT - EDGE.bottom;
  const right = Math.max(EDGE.left + 40, width - EDGE.right);
  const [low, high] = rangeOf(points);
  const x = (share: number) => EDGE.left + 12 + share * (right - EDGE.left - 24);
  const y = (value: number) => bottom - ((value - low) / (high - low)) * (bottom - top);
  const ticks = points.some((point) => point.y !== null) ? linearTicks(low, high) : [];
  const texts = tickTexts(ticks, tickY);
  return (
    <figure className={styles.figure} data-testid={testId}>
      <figcaption className={styles.head}>
        {title}
        <span className={styles.spring} />
        <DrawingMenu of="Trials over a parameter" host={host} sheet={props.sheet} />
      </figcaption>
      <div ref={host} style={{ height: HEIGHT }}>
        <svg width={width} height={HEIGHT} role="img" aria-label={label}>
          {ticks.map((tick, i) => (
            <g key={tick}>
              <line className={styles.grid} x1={EDGE.left} x2={right} y1={y(tick)} y2={y(tick)} />
              <text x={EDGE.left - 8} y={y(tick) + 4} textAnchor="end">
                {texts[i]}
              </text>
            </g>
          ))}
          <text x={EDGE.left - 8} y={11} textAnchor="end">
            {yTitle}
          </text>
          {without && (
            <g>
              <rect
                className={styles.strip}
                x={EDGE.left}
                y={EDGE.top}
                width={right - EDGE.left}
                height={STRIP}
                rx={3}
              />
              <text x={EDGE.left - 8} y={EDGE.top + STRIP / 2 + 4} textAnchor="end">
                {stripTitle}
              </text>
            </g>
          )}
          {points.length === 0 && (
            <text x={(EDGE.left + right) / 2} y={(top + bottom) / 2} textAnchor="middle">
              {empty}
            </text>
          )}
          <line className={styles.axis} x1={EDGE.left} x2={right} y1={bottom} y2={bottom} />
          {xMarks.map(({ at, label: text }) => (
            <text key={text} x={x(at)} y={bottom + 17} textAnchor="middle">
              {text}
            </text>
          ))}
          <text x={(EDGE.left + right) / 2} y={HEIGHT - 6} textAnchor="middle">
            {xTitle}
          </text>
          {points.map((point) => (
            <Point
              key={point.key}
              point={point}
              x={x(point.x)}
              y={point.y === null ? EDGE.top + STRIP / 2 : y(point.y)}
              marked={props.marked === point.key}
              mark={props.mark}
            />
          ))}
        </svg>
      </div>
    </figure>
  );
}

function Point({
  point,
  x,
  y,
  marked,
  mark,
}: {
  point: ScatterPoint;
  x: number;
  y: number;
  marked: boolean;
  mark: (key: number | undefined) => void;
}) {
  const { look, color, words, key } = point;
  return (
    <g data-look={look} data-trial={key} transform={`translate(${x} ${y})`}>
      {look === "chosen" && <circle r={9.5} fill="none" stroke={color} strokeWidth={2} />}
      {look === "failed" && <path d="M-4 -4 L4 4 M-4 4 L4 -4" stroke="var(--hk-bad)" strokeWidth={2} />}
      {look === "missed" && (
        <path
          d="M0 -5 L5.5 4.5 L-5.5 4.5 Z"
          fill="var(--hk-page)"
          stroke="var(--hk-ink-3)"
          strokeWidth={1.5}
        />
      )}
      {(look === "usual" || look === "chosen") && <circle r={5} fill={color} stroke="var(--hk-page)" />}
      {marked && <circle r={13} fill="none" stroke="var(--hk-amber)" strokeWidth={2} />}
      <circle
        className={styles.dot}
        r={11}
        onPointerEnter={() => mark(key)}
        onPointerLeave={() => mark(undefined)}
      >
        <title>{words}</title>
      </circle>
    </g>
  );
}

/** All figures, with room around them. */
function rangeOf(points: readonly ScatterPoint[]): [number, number] {
  const values = points.flatMap((point) => (point.y === null ? [] : [point.y]));
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (values.length === 0) return [0, 1];
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}
