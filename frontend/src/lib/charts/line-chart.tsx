import { type ReactNode, useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { usePrinting } from "@/lib/rows/use-whole";
import { PAPER, useDrawnScheme } from "@/lib/theme/paper";
import { ChartMenu } from "./chart-menu";
import { keyZoom, leaveCursor, moveCursor } from "./cursor-keys";
import styles from "./line-chart.module.css";
import { oncePerFrame } from "./once-per-frame";
import { type ChartAxes, chartOptions } from "./options";
import {
  type ChartSeries,
  type Crossing,
  chartData,
  describe,
  type Evaluations,
  seenThrough,
} from "./series";
import type { Zoom } from "./zoom";

export interface LineChartProps extends ChartAxes {
  readonly title: string;
  /** In place of the title above the chart: what chooses it. */
  readonly head?: ReactNode;
  readonly series: readonly ChartSeries[];
  /** Dots on the line of the target. */
  readonly crossings?: readonly Crossing[];
  readonly evaluations?: readonly Evaluations[];
  /** Such as "212 of 4,096 points". */
  readonly note?: string;
  readonly empty?: string;
  readonly height?: number;
  readonly testId?: string;
  /** What is in view, and how it is changed; without the second, the chart keeps its own. */
  readonly zoom?: Zoom;
  readonly onZoom?: (zoom: Zoom | undefined) => void;
}

/**
 * Curves over a shared x. Its height is reserved, its data may change as often as they like: it draws at most
 * once per animation frame and keeps the zoom (drag to zoom, double click to see all), to which its heights are fitted.
 * With the focus on it, arrows move along its points, + and - zoom.
 */
export function LineChart(props: LineChartProps) {
  const { title, note, empty = "No points yet", height = 300, testId } = props;
  const series = seenThrough(props.series);
  const dark = useDrawnScheme() === "dark";
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [own, setOwn] = useState<Zoom>();
  const zoom = props.onZoom ? props.zoom : own;
  const newest = useRef({ ...props, series, zoom });
  const structure = JSON.stringify([
    series.map((one) => [
      one.label,
      one.style.light,
      one.style.dash,
      one.low !== undefined,
      one.faint,
      one.thin,
    ]),
    props.xTitle,
    props.target,
    props.close,
    props.log,
    props.sync,
    dark,
    height,
  ]);

  const drawn = useRef<readonly unknown[]>([]);
  const redraw = useRef(
    oncePerFrame(() => {
      const now = newest.current;
      const columns = drawnBy(now);
      if (!plot.current || sameItems(columns, drawn.current)) return;
      drawn.current = columns;
      plot.current.setData(chartData(now.series) as uPlot.AlignedData, !now.zoom);
      if (now.zoom) inView(plot.current, now.zoom);
    }),
  );

  useEffect(() => {
    newest.current = { ...props, series, zoom };
    redraw.current();
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: `structure` stands for every prop that shapes the chart
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const ink = getComputedStyle(element).getPropertyValue("--hk-ink-2").trim();
    const grid = getComputedStyle(element).getPropertyValue("--hk-line").trim();
    const page = getComputedStyle(element).getPropertyValue("--hk-page").trim();
    const size = { width: element.clientWidth, height };
    const now = newest.current;
    const options = chartOptions(now.series, now, { dark, ink, grid, page }, size, () => newest.current);
    const change = (next: Zoom | undefined) => (newest.current.onZoom ?? setOwn)(next);
    const select = (on: uPlot) => {
      const { left, width } = on.select;
      if (width <= 0) return;
      on.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      change([on.posToVal(left, "x"), on.posToVal(left + width, "x")]);
    };
    const chart = new uPlot(
      { ...options, hooks: { setSelect: [select] } },
      chartData(now.series) as uPlot.AlignedData,
      element,
    );
    plot.current = chart;
    drawn.current = drawnBy(now);
    if (now.zoom) inView(chart, now.zoom);
    chart.over.addEventListener("dblclick", () => change(undefined));
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
      plot.current = null;
    };
  }, [structure]);

  const printing = usePrinting();
  useEffect(() => {
    const width = host.current?.clientWidth ?? 0;
    if (!printing || width <= PAPER) return; // a browser does not say how wide the sheet is
    plot.current?.setSize({ width: PAPER, height });
    return () => plot.current?.setSize({ width, height });
  }, [printing, height]);

  useEffect(() => () => redraw.current.cancel(), []);

  const points = series.reduce((sum, one) => sum + one.x.length, 0);
  return (
    <figure className={styles.figure} data-testid={testId} data-points={points}>
      <figcaption className={styles.head}>
        {props.head ?? <span className={styles.title}>{title}</span>}
        <span className={styles.aside}>
          <span className={styles.note}>{note}</span>
          {points > 0 && <ChartMenu of={title} drawing={() => newest.current} />}
        </span>
      </figcaption>
      <div
        ref={host}
        className={styles.canvas}
        style={{ height }}
        role="img"
        tabIndex={points > 0 ? 0 : undefined} // for its keys
        onKeyDown={(event) => {
          if (!plot.current || event.ctrlKey || event.metaKey || event.altKey) return;
          const next = keyZoom(plot.current, event.key);
          if (next !== null) (props.onZoom ?? setOwn)(next);
          if (next !== null || moveCursor(plot.current, event.key)) event.preventDefault();
        }}
        onBlur={() => plot.current && leaveCursor(plot.current)}
        aria-label={describe(title, series, props.formatX, props.formatY)}
      >
        {points === 0 && <div className={styles.empty}>{empty}</div>}
      </div>
    </figure>
  );
}

function inView(plot: uPlot, [min, max]: Zoom): void {
  plot.setScale("x", { min, max });
}

type Drawn = Pick<LineChartProps, "series" | "zoom" | "crossings" | "evaluations">;

function drawnBy({ series, zoom, crossings = [], evaluations = [] }: Drawn) {
  return [
    ...columnsOf(series),
    ...(zoom ?? []),
    "crossings",
    ...crossings.flatMap(({ x, style }) => [x, style.light]),
    "evaluations",
    ...evaluations.flatMap(({ x, style }) => [x, style.light]),
  ];
}

/** The arrays that a chart draws; answers that did not change keep theirs, and are not drawn again. */
function columnsOf(series: readonly ChartSeries[]): readonly unknown[] {
  return series.flatMap((one) => [one.label, one.x, one.y, one.low, one.high]);
}

function sameItems(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((item, i) => item === right[i]);
}
