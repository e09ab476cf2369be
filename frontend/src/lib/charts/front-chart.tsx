import type { ReactNode } from "react";
import { DrawingMenu } from "./drawing-menu";
import styles from "./front-chart.module.css";
import { LETTER, labelPlaces } from "./label-places";
import type { Sheet } from "./sheet-table";
import { tickTexts } from "./tick-texts";
import trial from "./trial-charts.module.css";
import { useWidth } from "./use-width";
import { type Spreading, type ValueAxis, valueAxis } from "./value-axis";

/** One thing with two figures. */
export interface FrontPoint {
  readonly key: string;
  readonly x: Spreading;
  readonly y: Spreading;
  readonly color: string;
  readonly name: string;
  /** Nothing is better in one figure and as good in the other. */
  readonly isOnFront: boolean;
  /** What the pointer is told. */
  readonly words: string;
}

interface FrontChartProps {
  readonly title: ReactNode;
  /** What a file of it is called. */
  readonly name: string;
  readonly sheet: () => Sheet;
  /** What a screen reader says. */
  readonly label: string;
  /** Those of the front from left to right. */
  readonly points: readonly FrontPoint[];
  readonly xTitle: string;
  readonly yTitle: string;
  readonly tickX: (value: number) => string;
  readonly tickY: (value: number) => string;
  /** The greatest values that there can be. */
  readonly limitX?: number;
  readonly limitY?: number;
  readonly testId?: string;
}

const HEIGHT = 340;
const EDGE = { left: 62, right: 18, top: 30, bottom: 46 };

interface Frame {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
  readonly right: number;
  readonly bottom: number;
}

/** Points over two figures with the spread of each, and the line through those that no other one beats. */
export function FrontChart(props: FrontChartProps) {
  const { title, label, points, xTitle, yTitle, tickX, tickY, testId } = props;
  const [host, width] = useWidth<HTMLDivElement>();
  const xs = valueAxis(
    points.map((point) => point.x),
    props.limitX,
  );
  const ys = valueAxis(
    points.map((point) => point.y),
    props.limitY,
  );
  const right = Math.max(EDGE.left + 80, width - EDGE.right);
  const bottom = HEIGHT - EDGE.bottom;
  const frame: Frame = {
    x: (value) => EDGE.left + xs.place(value) * (right - EDGE.left),
    y: (value) => bottom - ys.place(value) * (bottom - EDGE.top),
    right,
    bottom,
  };
  const front = points.filter((point) => point.isOnFront);
  const stand = points.map(({ key, name, x, y }) => ({
    key,
    name,
    x: frame.x(x.value),
    y: frame.y(y.value),
  }));
  const names = labelPlaces(
    stand.filter((_, n) => points[n]?.isOnFront),
    stand.map(({ x, y }) => [x, y] as const),
    { left: EDGE.left, right },
  );
  return (
    <figure className={trial.figure} data-testid={testId}>
      <figcaption className={trial.head}>
        {title}
        <span className={trial.spring} />
        <DrawingMenu of={props.name} host={host} sheet={props.sheet} />
      </figcaption>
      <div ref={host} style={{ height: HEIGHT }}>
        <svg width={width} height={HEIGHT} role="img" aria-label={label}>
          <Axes frame={frame} xs={xs} ys={ys} {...{ xTitle, yTitle, tickX, tickY }} />
          <path
            className={styles.front}
            data-front
            d={front
              .map(({ x, y }, i) => `${i ? "L" : "M"}${px(frame.x(x.value))} ${px(frame.y(y.value))}`)
              .join(" ")}
          />
          {names.map(({ key, name, x, y, anchor }) => (
            <text key={key} className={`${trial.halo} ${trial.name}`} x={px(x)} y={px(y)} textAnchor={anchor}>
              {name}
            </text>
          ))}
          {points.map((point) => (
            <Point key={point.key} point={point} frame={frame} />
          ))}
        </svg>
      </div>
    </figure>
  );
}

const px = (value: number) => Math.round(value * 10) / 10;

type AxesProps = Pick<FrontChartProps, "xTitle" | "yTitle" | "tickX" | "tickY"> & {
  frame: Frame;
  xs: ValueAxis;
  ys: ValueAxis;
};

function Axes({ frame, xs, ys, xTitle, yTitle, tickX, tickY }: AxesProps) {
  const { x, y, right, bottom } = frame;
  const beside = tickTexts(ys.ticks, tickY);
  const note = (axis: ValueAxis) => (axis.log ? ", log scale" : "");
  return (
    <g>
      {ys.ticks.map((tick, i) => (
        <g key={tick}>
          <line className={trial.grid} x1={EDGE.left} x2={right} y1={y(tick)} y2={y(tick)} />
          <text x={EDGE.left - 8} y={y(tick) + 4} textAnchor="end">
            {beside[i]}
          </text>
        </g>
      ))}
      <text x={4} y={12}>
        {yTitle}
        {note(ys)}
      </text>
      <line className={trial.axis} x1={EDGE.left} x2={right} y1={bottom} y2={bottom} />
      {thinned(xs.ticks, x, tickX).map(([tick, text]) => (
        <g key={tick}>
          <line className={trial.axis} x1={x(tick)} x2={x(tick)} y1={bottom} y2={bottom + 4} />
          <text x={x(tick)} y={bottom + 17} textAnchor="middle">
            {text}
          </text>
        </g>
      ))}
      <text x={(EDGE.left + right) / 2} y={HEIGHT - 8} textAnchor="middle">
        {xTitle}
        {note(xs)}
      </text>
    </g>
  );
}

/** The ticks whose texts do not touch, with these. */
function thinned(
  ticks: readonly number[],
  x: (value: number) => number,
  tickX: (value: number) => string,
): [number, string][] {
  const texts = tickTexts(ticks, tickX);
  const kept: [number, string][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const [i, tick] of ticks.entries()) {
    const text = texts[i] ?? "";
    const half = (text.length * LETTER) / 2;
    if (x(tick) - half < end + 10) continue;
    kept.push([tick, text]);
    end = x(tick) + half;
  }
  return kept;
}

function Point({ point, frame }: { point: FrontPoint; frame: Frame }) {
  const { x, y, color, isOnFront, words } = point;
  const [cx, cy] = [px(frame.x(x.value)), px(frame.y(y.value))];
  return (
    <g data-point={point.key} data-on-front={isOnFront || undefined} stroke={color}>
      {x.low !== null && x.high !== null && (
        <line className={styles.spread} x1={px(frame.x(x.low))} x2={px(frame.x(x.high))} y1={cy} y2={cy} />
      )}
      {y.low !== null && y.high !== null && (
        <line className={styles.spread} x1={cx} x2={cx} y1={px(frame.y(y.low))} y2={px(frame.y(y.high))} />
      )}
      <circle
        cx={cx}
        cy={cy}
        r={isOnFront ? 6 : 5}
        fill={isOnFront ? color : "var(--hk-page)"}
        strokeWidth={2}
      />
      <circle className={trial.dot} cx={cx} cy={cy} r={12} stroke="none">
        <title>{words}</title>
      </circle>
    </g>
  );
}
