import type { ReactNode } from "react";
import { DrawingMenu } from "./drawing-menu";
import { LETTER } from "./label-places";
import type { Sheet } from "./sheet-table";
import type { Mark } from "./space-scale";
import styles from "./trial-charts.module.css";
import { useWidth } from "./use-width";

export interface ParallelAxis {
  readonly name: string;
  readonly marks: readonly Mark[];
}

/** One trial: the place of its value on each axis, a share of the height; null where it has none. */
export interface ParallelLine {
  readonly key: number;
  readonly places: readonly (number | null)[];
  readonly color: string;
  readonly look: "usual" | "chosen" | "missed" | "failed";
  readonly words: string;
}

interface ParallelProps {
  readonly title: ReactNode;
  /** What a file of it is called. */
  readonly name: string;
  readonly label: string;
  readonly axes: readonly ParallelAxis[];
  /** Drawn in this order: the last lies on top. */
  readonly lines: readonly ParallelLine[];
  readonly marked: number | undefined;
  readonly mark: (key: number | undefined) => void;
  readonly sheet: () => Sheet;
  readonly testId?: string;
}

const HEIGHT = 300;
const TOP = 22;
const BOTTOM = HEIGHT - 44;
const SIDE = { left: 34, right: 52 };

/** Every trial as a line over an axis for each parameter, and one for what it has shown. */
export function ParallelCoordinates({
  title,
  name,
  label,
  axes,
  lines,
  marked,
  mark,
  sheet,
  testId,
}: ParallelProps) {
  const [host, width] = useWidth<HTMLDivElement>();
  const between = (width - SIDE.left - SIDE.right) / Math.max(1, axes.length - 1);
  const x = (index: number) => SIDE.left + index * between;
  const y = (share: number) => BOTTOM - share * (BOTTOM - TOP);
  const top = lines.find((line) => line.key === marked);
  const pathOf = (line: ParallelLine) => path(line.places, x, y);
  return (
    <figure className={styles.figure} data-testid={testId}>
      <figcaption className={styles.head}>
        {title}
        <span className={styles.spring} />
        <DrawingMenu of={name} host={host} sheet={sheet} />
      </figcaption>
      <div ref={host} style={{ height: HEIGHT }}>
        <svg width={width} height={HEIGHT} role="img" aria-label={label}>
          {axes.map(({ name }, index) => (
            <line key={name} className={styles.axis} x1={x(index)} x2={x(index)} y1={TOP} y2={BOTTOM} />
          ))}
          {lines.map((line) => (
            <path
              key={line.key}
              className={styles.line}
              data-look={line.look}
              data-trial={line.key}
              d={pathOf(line)}
              stroke={line.look === "failed" ? "var(--hk-bad)" : line.color}
              strokeWidth={line.look === "chosen" ? 3.5 : 1.6}
              strokeDasharray={line.look === "missed" || line.look === "failed" ? "5 4" : undefined}
              opacity={marked === undefined || marked === line.key ? 1 : 0.3}
            />
          ))}
          {top && <path className={styles.line} d={pathOf(top)} stroke="var(--hk-amber)" strokeWidth={3.5} />}
          {axes.map(({ name, marks }, index) => (
            <g key={name}>
              {marks.map((one) => (
                <text key={one.label} className={styles.halo} x={x(index) + 5} y={y(one.at) + 4}>
                  {index < axes.length - 1 ? cut(one.label, between) : one.label}
                </text>
              ))}
              <text
                className={styles.name}
                x={inside(x(index), name, width)}
                y={anchorY(index, between)}
                textAnchor="middle"
              >
                {name}
              </text>
            </g>
          ))}
          {lines.map((line) => (
            <path
              key={line.key}
              className={styles.hit}
              d={pathOf(line)}
              onPointerEnter={() => mark(line.key)}
              onPointerLeave={() => mark(undefined)}
            >
              <title>{line.words}</title>
            </path>
          ))}
        </svg>
      </div>
    </figure>
  );
}

/** The middle of a name at x, moved so that none of it lies outside of the drawing. */
function inside(x: number, name: string, width: number): number {
  const half = (name.length * LETTER) / 2;
  return Math.max(half, Math.min(width - half, x));
}

/** A mark as far as it does not reach the next axis; a line tells its value in full. */
function cut(label: string, between: number): string {
  const most = Math.floor((between - 9) / LETTER);
  return label.length > most ? `${label.slice(0, Math.max(1, most - 1))}…` : label;
}

/** Names of close axes stand in turn on two lines. */
function anchorY(index: number, between: number): number {
  return BOTTOM + 19 + (between < 96 && index % 2 === 1 ? 16 : 0);
}

/** A line through the places; it pauses where there is none. */
function path(
  places: readonly (number | null)[],
  x: (index: number) => number,
  y: (share: number) => number,
): string {
  let down = false;
  return places
    .map((share, index) => {
      if (share === null) {
        down = false;
        return "";
      }
      const verb = down ? "L" : "M";
      down = true;
      return `${verb}${x(index).toFixed(1)} ${y(share).toFixed(1)}`;
    })
    .join(" ")
    .trim();
}
