import { Text } from "@mantine/core";
import { LineChart } from "@/lib/charts/line-chart";
import type { ChartSeries } from "@/lib/charts/series";
import type { ExperimentView } from "@/lib/client/types.gen";
import {
  formatCount,
  formatNumber,
  formatPercent,
  formatPercentTick,
  formatRatio,
  NONE,
} from "@/lib/format/numbers";
import { colorOf, type VariantStyle, variantStyle } from "@/lib/theme/palette";
import { Figure } from "@/lib/ui/figure";
import { Section } from "@/lib/ui/section";
import { TableRegion } from "@/lib/ui/table-region";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./experiment.module.css";
import { type Scaling, type ScalingPoint, scalingOf } from "./scaling";
import { useAllRuns } from "./use-experiment";

/** Neither the colour nor the pattern of a variant. */
const IDEAL: VariantStyle = { color: "#808b95", light: "#808b95", dark: "#808b95", dash: [2, 4] };

/** Speed-up and efficiency against the number of workers, of experiments with several and a target. */
export function ScalingPart({ experiment }: { experiment: ExperimentView }) {
  const { spec, variants } = experiment;
  const asked = spec.target && spec.clusters.some(({ workers }) => (workers?.length ?? 0) > 1);
  const { runs, complete } = useAllRuns(experiment.id, {
    reported: spec.tuning ? true : undefined,
    enabled: Boolean(asked),
  });
  if (!asked) return null;
  const found = scalingOf(runs, variants);
  return (
    <Section title="Scaling" testId="scaling">
      {found.map((one) => (
        <OnCluster key={one.cluster} scaling={one} experiment={experiment} />
      ))}
      {!complete && (
        <Text fz={13} mt={8} data-testid="scaling-partial">
          Of the first {formatCount(runs.length)} runs: the others are being read.
        </Text>
      )}
      <Text fz={12.5} c="dimmed" maw="92ch" mt={16}>
        {found.length === 0
          ? "No seed has met the target with two numbers of workers yet."
          : "Time to the target with the fewest workers over that with more, paired by seed: geometric mean over seeds, with its 95% t interval from three seeds on. Efficiency is this speed-up over the factor of workers. A seed that missed the target with either number is left out, so the mean flatters a variant that often misses the target."}
      </Text>
    </Section>
  );
}

/** "3 seeds, 95% interval 2.90× to 3.40×, efficiency 81%"; of two seeds their range. */
function behind({ seeds, least, greatest, low, high, efficiency }: ScalingPoint): string {
  const range = seeds > 1 ? `, ${formatRatio(least)} to ${formatRatio(greatest)}` : "";
  const known = low !== null && high !== null;
  const spread = known ? `, 95% interval ${formatRatio(low)} to ${formatRatio(high)}` : range;
  return `${seeds} ${seeds === 1 ? "seed" : "seeds"}${spread}, efficiency ${formatPercent(efficiency, 0)}`;
}

/** Speed-ups, or with `share` these over the factor of workers. */
function seriesOf(
  { rows, workers, base }: Scaling,
  experiment: ExperimentView,
  share: boolean,
): ChartSeries[] {
  const of = (value: number | null, count: number) =>
    share && value !== null ? (value * base) / count : value;
  const ideal = {
    label: "ideal",
    style: IDEAL,
    x: workers,
    y: workers.map((count) => of(count / base, count)),
  };
  return [
    { ...ideal, faint: true },
    ...rows.map(({ variant, points }) => ({
      label: variant,
      style: variantStyle(colorOf(experiment, variant)),
      x: points.map((point) => point.workers),
      y: points.map((point) => of(point.ratio, point.workers)),
      low: points.map((point) => of(point.low, point.workers)),
      high: points.map((point) => of(point.high, point.workers)),
      detail: (x: number) => {
        const point = points.find((one) => one.workers === x);
        return point ? behind(point) : "";
      },
    })),
  ];
}

function OnCluster({ scaling, experiment }: { scaling: Scaling; experiment: ExperimentView }) {
  const { cluster, simulated, base, workers, rows } = scaling;
  const axis = {
    xTitle: "Workers",
    formatX: formatCount,
    tickX: (value: number) => (Number.isInteger(value) ? formatCount(value) : ""),
    marksX: workers,
    height: 260,
    sync: `scaling on ${cluster}`,
  };
  return (
    <div className={styles.scaling}>
      <LineChart
        title={`Speed-up over ${base} ${base === 1 ? "worker" : "workers"}: ${cluster}${simulated ? " (simulated)" : ""}`}
        testId="scaling-chart"
        series={seriesOf(scaling, experiment, false)}
        {...axis}
        formatY={formatRatio}
        tickY={(value) => `${formatNumber(value)}×`}
      />
      <LineChart
        title={`Efficiency: ${cluster}${simulated ? " (simulated)" : ""}`}
        testId="efficiency-chart"
        series={seriesOf(scaling, experiment, true)}
        {...axis}
        formatY={(value) => formatPercent(value, 0)}
        tickY={formatPercentTick}
      />
      <TableRegion label={`Scaling on ${cluster}`}>
        <table className={`${ui.table} ${ui.sticky}`}>
          <thead>
            <tr>
              <th scope="col">
                {cluster} {simulated && <Tag kind="simulated" />}
              </th>
              {workers.map((count) => (
                <th key={count} data-number scope="col" className={ui.number}>
                  {formatCount(count)} {count === 1 ? "worker" : "workers"}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ variant, points }) => (
              <tr key={variant} data-testid="scaling-row">
                <td>
                  <VariantChip name={variant} index={colorOf(experiment, variant)} />
                </td>
                {workers.map((count) => {
                  const point = points.find((one) => one.workers === count);
                  return (
                    <td key={count} className={ui.number} title={point && behind(point)}>
                      <Figure
                        value={point ? formatRatio(point.ratio) : NONE}
                        range={point && count !== base ? formatPercent(point.efficiency, 0) : ""}
                      />
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </TableRegion>
    </div>
  );
}
