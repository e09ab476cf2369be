import { type ReactNode, useState } from "react";
import type { ChartAxis, Metric } from "@/lib/api/types";
import { ChartCursor } from "@/lib/charts/chart-cursor";
import { chartLook, OF_STEPS } from "@/lib/charts/chart-look";
import { LineChart } from "@/lib/charts/line-chart";
import type { ChartSeries, Crossing, TargetLine } from "@/lib/charts/series";
import { smoothed } from "@/lib/charts/smooth";
import type { Zoom } from "@/lib/charts/zoom";
import type { Band, ExperimentView, FurtherMetricView } from "@/lib/client/types.gen";
import { axisTitle, formatAxisTick, formatAxisValue } from "@/lib/format/axes";
import { formatChosenPercent, formatCount, formatNumber } from "@/lib/format/numbers";
import { colorOf, variantStyle } from "@/lib/theme/palette";
import { isTerminal } from "@/lib/ui/states";
import { Tag } from "@/lib/ui/tag";
import { meanSeries, type SeedCurve, seedSeries, tailSeries } from "./band-series";
import styles from "./experiment.module.css";
import { type Group, groupLabel } from "./groups";
import { LegendTable } from "./legend-table";
import { medianSeries } from "./median-series";
import { ALWAYS, type Presence } from "./presence";
import type { ExperimentSearch } from "./search";
import { Zoomed } from "./zoomed";

/** "3 seeds, 9 evaluations each"; of a metric of steps, "3 seeds". */
function behind(bands: readonly Band[], steps: boolean): string {
  const seeds = Math.max(0, ...bands.map((band) => band.runs.length));
  const counts = steps ? [] : bands.flatMap((band) => band.evaluations ?? []);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const evaluations = least === most ? formatCount(most) : `${formatCount(least)} to ${formatCount(most)}`;
  const told = counts.length > 0 ? `, ${evaluations} evaluations each` : "";
  return `${seeds} ${seeds === 1 ? "seed" : "seeds"}${told}`;
}

function targetOf(experiment: ExperimentView, metric: Metric, share: boolean): TargetLine | undefined {
  const target = experiment.spec.target;
  if (!target || (target.metric ?? "validation_accuracy") !== metric) return undefined;
  return {
    value: target.value,
    label: `target ${share ? formatChosenPercent(target.value) : formatNumber(target.value)}`,
  };
}

/** A band and the seeds behind it, as far as they are known. */
export interface Seeded {
  readonly band: Band;
  readonly seeds: readonly SeedCurve[];
}

/** What of the seeds is drawn; undefined: their mean. */
type Show = ExperimentSearch["seeds"];
type Format = (value: number) => string;

/** The median where it is asked for and the seeds are known, otherwise the mean. */
function middleOf({ band, seeds }: Seeded, index: number, show: Show, format: Format): ChartSeries {
  return show === "median" && seeds.length > 0
    ? medianSeries(band, seeds, index, format)
    : meanSeries(band, index, format);
}

/** A mean or a median and the tails of its seeds, or every seed; the mean while seeds are not known. */
function linesOf(of: Seeded, index: number, show: Show, format: Format): ChartSeries[] {
  const { band, seeds } = of;
  if (show === "each" && seeds.length > 0) return seedSeries(band, seeds, index);
  return [middleOf(of, index, show, format), ...tailSeries(band, seeds, index)];
}

/** A line and its average; what is pale already stays as it is. */
const averagedOnce = (line: ChartSeries, strength: number) =>
  line.faint ? [line] : smoothed(line, strength);

/** What is the same for every chart of a page. */
export interface ChartsLook {
  experiment: ExperimentView;
  group: Group | undefined;
  /** Places of variants that are switched off, and what turns one on or off. */
  hidden: ReadonlySet<number>;
  toggle: (index: number) => void;
  close: boolean;
  /** On a logarithmic scale, unless it is a share. */
  log: boolean;
  /** The horizontal axis on a logarithmic scale. */
  logX?: boolean;
  show: Show;
  /** Means over so many percent of the points, before pale lines of what was measured; undefined: as measured. */
  smooth: number | undefined;
}

interface MetricChartProps extends ChartsLook {
  metric: Metric;
  /** Of a further metric. */
  declared?: FurtherMetricView;
  /** In place of the title: what chooses it. */
  head?: ReactNode;
  axis: ChartAxis;
  /** Of the group, with those that are switched off. */
  bands: readonly Seeded[];
  crossings: readonly Crossing[];
  zoom?: Zoom;
  /** Without it, the chart keeps its own zoom. */
  onZoom?: (zoom: Zoom | undefined) => void;
  /** Whether it is in view; with it, the zoom is that of the page. */
  presence?: Presence;
}

/** One metric of every variant of a group over an axis, and the table of its values. */
export function MetricChart(props: MetricChartProps) {
  const { metric, axis, bands, experiment, group, hidden, show } = props;
  const [cursor] = useState(() => new ChartCursor());
  const { variants } = experiment;
  const indexOf = ({ variant }: Band) => variants.indexOf(variant);
  const colorAt = ({ variant }: Band) => colorOf(experiment, variant);
  const seen = bands.filter(({ band }) => !hidden.has(indexOf(band)));
  const simulated = group?.simulated ?? false;
  const points = seen.reduce((most, { band }) => Math.max(most, band.x.length), 0);
  const { title, share, better, format, tick, unit } = chartLook(metric, props.declared);
  const steps = OF_STEPS.includes(metric);
  const target = targetOf(experiment, metric, share);
  const medians = show === "median" && seen.length > 0 && seen.every(({ seeds }) => seeds.length > 0);
  const [early, never] = steps ? ["No step yet", "No steps"] : ["No evaluation yet", "No evaluations"];
  const nothing = isTerminal(experiment.state) ? never : early;
  const formatX = (value: number) => formatAxisValue(axis, value);
  const series = seen.flatMap((one) => {
    const lines = linesOf(one, colorAt(one.band), show, format);
    const { smooth } = props;
    return smooth ? lines.flatMap((line) => averagedOnce(line, smooth)) : lines;
  });
  const evaluations = seen.flatMap(({ band, seeds }) =>
    seeds.map(({ x }) => ({ x, style: variantStyle(colorAt(band)) })),
  );
  const draw = (zoom: Zoom | undefined, onZoom: MetricChartProps["onZoom"]) => (
    <LineChart
      title={medians ? `${title}, median of the seeds` : title}
      head={props.head}
      testId={`chart-${metric}`}
      note={
        points > 0
          ? behind(
              seen.map(({ band }) => band),
              steps,
            )
          : undefined
      }
      empty={experiment.state === "queued" ? "Waiting for free slots" : nothing}
      series={series}
      xTitle={axisTitle(axis, simulated)}
      formatX={formatX}
      tickX={(value) => formatAxisTick(axis, value)}
      formatY={format}
      tickY={tick}
      clamp={share ? [0, 1] : undefined}
      close={props.close && better ? (better === "higher" ? "top" : "bottom") : undefined}
      log={props.log && !share}
      logX={props.logX}
      target={target}
      crossings={target ? props.crossings : []}
      evaluations={steps ? [] : evaluations}
      sync={`curves over ${axis}`}
      cursor={cursor}
      zoom={zoom}
      onZoom={onZoom}
      still={props.presence !== undefined && props.presence !== ALWAYS}
    />
  );
  return (
    <div>
      {props.onZoom && props.presence ? (
        <Zoomed presence={props.presence} onZoom={props.onZoom} draw={draw} />
      ) : (
        draw(props.zoom, props.onZoom)
      )}
      <LegendTable
        title={title}
        rows={variants.map((name, index) => {
          const of = bands.find(({ band }) => band.variant === name);
          const color = colorOf(experiment, name);
          const line = of && { line: middleOf(of, color, show, format), x: of.band.x, n: of.band.n };
          return { name, color, hidden: hidden.has(index), line };
        })}
        cursor={cursor}
        formatX={formatX}
        format={format}
        unit={unit}
        middle={medians ? "median" : "mean"}
        toggle={props.toggle}
      />
      <div className={styles.under}>
        {group && groupLabel(group)} {simulated && <Tag kind="simulated" />}
        {group?.oversubscribed && <Tag kind="oversubscribed" />}
      </div>
    </div>
  );
}
