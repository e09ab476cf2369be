import { SegmentedControl } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { LineChart } from "@/lib/charts/line-chart";
import type { ChartSeries, TargetLine } from "@/lib/charts/series";
import type { Band, BandAnswer, ExperimentView } from "@/lib/client/types.gen";
import { formatCount, formatNumber, formatPercent } from "@/lib/format/numbers";
import {
  AXES,
  axisLabel,
  axisTitle,
  formatAxisTick,
  formatAxisValue,
  formatMetric,
  METRIC_LABELS,
} from "@/lib/format/quantities";
import { variantStyle } from "@/lib/theme/palette";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { Section } from "@/lib/ui/section";
import { Tag } from "@/lib/ui/tag";
import styles from "./experiment.module.css";
import { GroupPicker } from "./group-picker";
import { bandsOf, type Group, groupLabel } from "./groups";
import { Legend } from "./legend";
import { hiddenVariants } from "./search";
import { useBands } from "./use-experiment";

const route = getRouteApi("/experiments/$experimentId");

interface CurvesProps {
  experiment: ExperimentView;
  groups: readonly Group[];
  group: Group | undefined;
}

/** Accuracy and loss of the center: mean over seeds with its 95% band, over the axis that the URL names. */
export function Curves({ experiment, groups, group }: CurvesProps) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const axis = search.axis ?? "clock";
  const query = useBands(experiment.id, axis);
  const hidden = hiddenVariants(search.hide);
  const bands = group ? bandsOf(query.data?.bands ?? [], group) : [];
  return (
    <Section
      title="Curves"
      testId="curves"
      aside={
        <SegmentedControl
          size="xs"
          aria-label="Horizontal axis"
          data-testid="axis-picker"
          value={axis}
          data={AXES.map((value) => ({ value, label: axisLabel(value) }))}
          onChange={(value) =>
            navigate({
              search: (old) => ({ ...old, axis: AXES.find((known) => known === value && known !== "clock") }),
              replace: true,
              resetScroll: false,
            })
          }
        />
      }
    >
      <GroupPicker groups={groups} group={group} />
      <Legend experiment={experiment} hidden={hidden} />
      {query.isError && !query.data && (
        <ErrorPanel what="The curves could not be read." error={query.error} retry={() => query.refetch()} />
      )}
      <div className={styles.charts} data-stale={query.isPlaceholderData}>
        {(["test_accuracy", "test_loss"] as const).map((metric) => (
          <MetricChart
            key={metric}
            metric={metric}
            answer={query.data}
            bands={bands.filter(
              (band) => band.metric === metric && !hidden.has(experiment.variants.indexOf(band.variant)),
            )}
            experiment={experiment}
            group={group}
          />
        ))}
      </div>
    </Section>
  );
}

function toSeries(band: Band, experiment: ExperimentView): ChartSeries {
  return {
    label: band.variant,
    style: variantStyle(experiment.variants.indexOf(band.variant)),
    x: band.x,
    y: band.mean,
    low: band.low,
    high: band.high,
  };
}

function targetOf(experiment: ExperimentView, metric: Band["metric"]): TargetLine | undefined {
  const target = experiment.spec.target;
  if (!target || (target.metric ?? "test_accuracy") !== metric) return undefined;
  return {
    value: target.value,
    label: `target ${metric === "test_loss" ? formatNumber(target.value) : formatPercent(target.value)}`,
  };
}

interface MetricChartProps {
  metric: "test_accuracy" | "test_loss";
  answer: BandAnswer | undefined;
  bands: readonly Band[];
  experiment: ExperimentView;
  group: Group | undefined;
}

function MetricChart({ metric, answer, bands, experiment, group }: MetricChartProps) {
  const axis = answer?.axis ?? "clock";
  const simulated = group?.simulated ?? false;
  const seeds = bands.reduce((most, band) => Math.max(most, band.runs.length), 0);
  const points = bands.reduce((sum, band) => sum + band.x.length, 0);
  const accuracy = metric === "test_accuracy";
  return (
    <div>
      <LineChart
        title={METRIC_LABELS[metric]}
        testId={`chart-${metric}`}
        note={points > 0 ? `${formatCount(points)} grid points, up to ${seeds} seeds` : undefined}
        empty={experiment.state === "queued" ? "Waiting for free slots" : "No evaluation yet"}
        series={bands.map((band) => toSeries(band, experiment))}
        xTitle={axisTitle(axis, simulated)}
        formatX={(value) => formatAxisValue(axis, value)}
        tickX={(value) => formatAxisTick(axis, value)}
        formatY={(value) => formatMetric(metric, value)}
        tickY={(value) => (accuracy ? formatPercent(value, 0) : formatNumber(value))}
        clamp={accuracy ? [0, 1] : undefined}
        target={targetOf(experiment, metric)}
      />
      <div className={styles.under}>
        {group && groupLabel(group)} {simulated && <Tag kind="simulated" />}
        {group?.oversubscribed && <Tag kind="oversubscribed" />}
      </div>
    </div>
  );
}
