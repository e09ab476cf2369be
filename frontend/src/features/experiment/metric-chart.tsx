import type { Metric } from "@/lib/api/types";
import { LineChart } from "@/lib/charts/line-chart";
import type { ChartSeries, Crossing, TargetLine } from "@/lib/charts/series";
import type { Zoom } from "@/lib/charts/zoom";
import type { Band, BandAnswer, ExperimentView, FurtherMetricView } from "@/lib/client/types.gen";
import { formatChosenPercent, formatCount, formatNumber, formatPercentTick } from "@/lib/format/numbers";
import { axisTitle, formatAxisTick, formatAxisValue, lookOf } from "@/lib/format/quantities";
import { variantStyle } from "@/lib/theme/palette";
import { Tag } from "@/lib/ui/tag";
import { meanSeries, type SeedCurve, seedSeries, tailSeries } from "./band-series";
import styles from "./experiment.module.css";
import { type Group, groupLabel } from "./groups";
import { medianSeries } from "./median-series";
import type { ExperimentSearch } from "./search";

/** "3 seeds, 9 evaluations each". */
function behind(bands: readonly Band[]): string {
  const seeds = Math.max(0, ...bands.map((band) => band.runs.length));
  const counts = bands.flatMap((band) => band.evaluations ?? []);
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

/** A mean or a median and the tails of its seeds, or every seed; the mean while seeds are not known. */
function linesOf(
  band: Band,
  seeds: readonly SeedCurve[],
  index: number,
  show: ExperimentSearch["seeds"],
  format: (value: number) => string,
): ChartSeries[] {
  if (show === "each" && seeds.length > 0) return seedSeries(band, seeds, index);
  const middle =
    show === "median" && seeds.length > 0
      ? medianSeries(band, seeds, index, format)
      : meanSeries(band, index, format);
  return [middle, ...tailSeries(band, seeds, index)];
}

/** A band and the seeds behind it, as far as they are known. */
export interface Seeded {
  readonly band: Band;
  readonly seeds: readonly SeedCurve[];
}

interface MetricChartProps {
  metric: Metric;
  /** Of a further metric. */
  declared?: FurtherMetricView;
  answer: BandAnswer | undefined;
  bands: readonly Seeded[];
  experiment: ExperimentView;
  group: Group | undefined;
  close: boolean;
  /** On a logarithmic scale, unless it is a share. */
  log: boolean;
  /** What of the seeds is drawn; undefined: their mean. */
  show: ExperimentSearch["seeds"];
  crossings: readonly Crossing[];
  zoom: Zoom | undefined;
  onZoom: (zoom: Zoom | undefined) => void;
}

/** One metric of every variant of a group. */
export function MetricChart({
  metric,
  declared,
  answer,
  bands,
  experiment,
  group,
  close,
  log,
  show,
  crossings,
  zoom,
  onZoom,
}: MetricChartProps) {
  const axis = answer?.axis ?? "clock";
  const simulated = group?.simulated ?? false;
  const points = bands.reduce((most, { band }) => Math.max(most, band.x.length), 0);
  const { title, share, better, format } = lookOf(metric, declared);
  const target = targetOf(experiment, metric, share);
  const medians = show === "median" && bands.length > 0 && bands.every(({ seeds }) => seeds.length > 0);
  const indexOf = ({ variant }: Band) => experiment.variants.indexOf(variant);
  return (
    <div>
      <LineChart
        title={medians ? `${title}, median of the seeds` : title}
        testId={`chart-${metric}`}
        note={points > 0 ? behind(bands.map(({ band }) => band)) : undefined}
        empty={experiment.state === "queued" ? "Waiting for free slots" : "No evaluation yet"}
        series={bands.flatMap(({ band, seeds }) => linesOf(band, seeds, indexOf(band), show, format))}
        xTitle={axisTitle(axis, simulated)}
        formatX={(value) => formatAxisValue(axis, value)}
        tickX={(value) => formatAxisTick(axis, value)}
        formatY={format}
        tickY={(value) => (share ? formatPercentTick(value) : formatNumber(value))}
        clamp={share ? [0, 1] : undefined}
        close={close && better ? (better === "higher" ? "top" : "bottom") : undefined}
        log={log && !share}
        target={target}
        crossings={target && axis === "clock" ? crossings : []}
        evaluations={bands.flatMap(({ band, seeds }) =>
          seeds.map(({ x }) => ({ x, style: variantStyle(indexOf(band)) })),
        )}
        sync="curves"
        zoom={zoom}
        onZoom={onZoom}
      />
      <div className={styles.under}>
        {group && groupLabel(group)} {simulated && <Tag kind="simulated" />}
        {group?.oversubscribed && <Tag kind="oversubscribed" />}
      </div>
    </div>
  );
}
