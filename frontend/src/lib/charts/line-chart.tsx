import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { usePrinting } from "@/lib/rows/use-whole";
import { PAPER, useDrawnScheme } from "@/lib/theme/paper";
import ui from "@/lib/ui/ui.module.css";
import { ahead } from "./ahead";
import { BeyondNote } from "./beyond-note";
import { ChartMenu } from "./chart-menu";
import { cursorWords, zoomWords } from "./chart-words";
import { keyZoom, leaveCursor, moveCursor, takeOffCursor } from "./cursor-keys";
import { drawnBy, sameItems } from "./drawn-by";
import { gestures } from "./hands";
import { inTurn, isTurn } from "./in-turn";
import styles from "./line-chart.module.css";
import { aboveZero, isWide, positive } from "./log-x";
import { beyondOf } from "./most-values";
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
import { structureOf } from "./structure";
import { useSeen, useWhileNear } from "./use-near";
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
  /** Out of view its data seldom change: then they are drawn while nothing else is done, and not when it comes into view. */
  readonly still?: boolean;
}

/** A chart that is drawn, and the structure that it was built for. */
interface Built {
  readonly chart: uPlot;
  readonly structure: string;
  readonly destroy: () => void;
}

/**
 * Curves over a shared x. Its height is reserved, its data may change as often as they like: it draws at most
 * once per animation frame, out of view only once while nothing else is done, and to be printed. It keeps the zoom (drag to zoom, Shift
 * and drag, or a finger, to move, double click to see all), to which its heights are fitted. With the focus on it, arrows move along
 * its points, + and - zoom; screen readers say what is reached.
 */
export function LineChart(props: LineChartProps) {
  const { title, note, empty = "No points yet", height = 300, testId } = props;
  const series = seenThrough(props.logX ? aboveZero(props.series) : props.series);
  const dark = useDrawnScheme() === "dark";
  const host = useRef<HTMLDivElement>(null);
  const [own, setOwn] = useState<Zoom>();
  const zoom = positive(props.onZoom ? props.zoom : own, props.logX);
  const [whole, setWhole] = useState(false);
  const beyond = beyondOf({ ...props, series, zoom, whole });
  const [told, tell] = useState("");
  const points = pointsOf(series);
  const structure = structureOf(series, props, dark, height);
  const seen = useSeen(host, () => built.current && takeOffCursor(built.current.chart));
  const now = { ...props, series, zoom, whole, beyond, structure, seen };
  const newest = useRef(now);
  const drawing = useCallback(() => newest.current, []);

  const built = useRef<Built | null>(null);
  const drawn = useRef(drawnBy({ series: [] }));
  const draw = useRef(() => {
    const now = newest.current;
    const [next, before] = [drawnBy(now), drawn.current];
    if (built.current?.structure !== now.structure || sameItems(next.all, before.all)) return;
    drawn.current = next;
    const { chart } = built.current;
    const same = sameItems(next.curves, before.curves); // of another zoom
    chart.setData(same ? chart.data : (chartData(now.series) as uPlot.AlignedData), !now.zoom);
    if (now.zoom) inView(chart, now.zoom);
  });
  const redraw = useRef(inTurn(() => draw.current()));
  const printing = usePrinting();

  useEffect(() => {
    newest.current = now;
  });
  const near = useWhileNear(host, structure, arrive, stay);
  useEffect(() => {
    if (built.current?.structure !== structure) return;
    if (near.current) (printing || isTurn() ? draw : redraw).current();
    else if (props.still) return ahead(() => draw.current());
  });

  useEffect(
    () => () => {
      redraw.current.cancel();
      built.current?.destroy();
      built.current = null;
    },
    [],
  );

  /** Told where it is done: charts that share what is in view would all say it. */
  function change(next: Zoom | undefined): void {
    const now = newest.current;
    const x = built.current?.chart.data[0];
    if (!x || (next && !isWide(next, x, now.logX))) return;
    (now.onZoom ?? setOwn)(next);
    tell(zoomWords(now, x, next));
  }

  function make(): void {
    if (!host.current) return;
    built.current?.destroy();
    drawn.current = drawnBy(newest.current);
    built.current = { ...build(host.current), structure };
  }

  function arrive(): () => void {
    const later = inTurn(make);
    if (built.current?.structure === structure)
      (printing ? draw : redraw).current(); // what came meanwhile
    else if (printing) make();
    else later();
    return later.cancel;
  }

  /** Out of view it stays as it was, or is built while nothing else is done. */
  function stay(): (() => void) | undefined {
    if (built.current?.structure === structure || pointsOf(newest.current.series) === 0) return;
    return ahead(make);
  }

  function build(element: HTMLDivElement): Omit<Built, "structure"> {
    const colour = (name: string) => getComputedStyle(element).getPropertyValue(name).trim();
    const look = {
      dark,
      ink: colour("--hk-ink-2"),
      pointer: colour("--hk-ink-3"),
      marked: colour("--hk-accent"),
      grid: colour("--hk-line"),
      page: colour("--hk-page"),
    };
    const size = { width: element.clientWidth, height };
    const now = newest.current;
    const options = chartOptions(now.series, now, look, size, () => newest.current);
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
    if (now.zoom) inView(chart, now.zoom);
    const show = oncePerFrame(() => newest.current.zoom && inView(chart, newest.current.zoom));
    const endGestures = gestures(chart, {
      log: () => newest.current.logX,
      zoom: () => newest.current.zoom,
      show: (next) => {
        newest.current = { ...newest.current, zoom: next };
        show();
      },
      keep: change,
    });
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    const destroy = () => {
      observer.disconnect();
      endGestures();
      show.cancel();
      chart.destroy();
    };
    return { chart, destroy };
  }

  useEffect(() => {
    const width = host.current?.clientWidth ?? 0;
    if (!printing || width <= PAPER) return; // a browser does not say how wide the sheet is
    built.current?.chart.setSize({ width: PAPER, height });
    return () => built.current?.chart.setSize({ width, height });
  }, [printing, height]);

  return (
    <figure className={styles.figure} data-testid={testId} data-points={points}>
      <figcaption className={styles.head}>
        {props.head ?? <span className={styles.title}>{title}</span>}
        <span className={styles.aside}>
          <span className={styles.note}>{note}</span>
          <BeyondNote beyond={beyond.length} whole={whole} turn={setWhole} />
          {points > 0 && <ChartMenu of={title} drawing={drawing} />}
        </span>
      </figcaption>
      <span className={ui.unseen} aria-live="polite">
        {told}
      </span>
      <div
        ref={host}
        className={styles.canvas}
        style={{ height }}
        data-zoomed={zoom !== undefined}
        role="img"
        tabIndex={points > 0 ? 0 : undefined} // for its keys
        onKeyDown={(event) => {
          const chart = built.current?.chart;
          if (!chart || event.ctrlKey || event.metaKey || event.altKey) return;
          const next = keyZoom(chart, event.key, props.logX);
          if (next !== null) change(next);
          else if (moveCursor(chart, event.key)) tell(cursorWords(chart, newest.current));
          else return;
          event.preventDefault();
        }}
        onBlur={() => built.current && leaveCursor(built.current.chart)}
        aria-label={describe(title, series, props.formatX, props.formatY)}
      >
        {points === 0 && <div className={styles.empty}>{empty}</div>}
      </div>
    </figure>
  );
}

const pointsOf = (series: readonly ChartSeries[]) => series.reduce((sum, one) => sum + one.x.length, 0);

function inView(plot: uPlot, [min, max]: Zoom): void {
  plot.setScale("x", { min, max });
}
