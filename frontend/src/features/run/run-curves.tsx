import { getRouteApi } from "@tanstack/react-router";
import type { Metric } from "@/lib/api/types";
import { LineChart } from "@/lib/charts/line-chart";
import type { RunView, SeriesAnswer, Target } from "@/lib/client/types.gen";
import { formatCount, formatNumber, formatPercentTick } from "@/lib/format/numbers";
import {
  axisTitle,
  formatAxisTick,
  formatAxisValue,
  formatMetric,
  isShare,
  METRIC_LABELS,
} from "@/lib/format/quantities";
import { variantStyle } from "@/lib/theme/palette";
import { AxisPicker } from "@/lib/ui/axis-picker";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { Section } from "@/lib/ui/section";
import styles from "./run.module.css";
import { metricsOf, useSeries } from "./use-run";

const route = getRouteApi("/runs/$runId");

/** The series of one run, downsampled by the server so that no spike is lost. */
export function RunCurves({
  run,
  index,
  target,
}: {
  run: RunView;
  index: number;
  target: Target | undefined;
}) {
  const axis = route.useSearch().axis ?? "clock";
  const navigate = route.useNavigate();
  const metrics = metricsOf(run.evaluated_part);
  const query = useSeries(run.id, metrics, axis);
  return (
    <Section
      title="Curves"
      testId="run-curves"
      aside={
        <AxisPicker
          axis={axis}
          choose={(next) =>
            navigate({ search: (old) => ({ ...old, axis: next }), replace: true, resetScroll: false })
          }
        />
      }
    >
      {query.isError && !query.data && (
        <ErrorPanel what="The curves could not be read." error={query.error} retry={() => query.refetch()} />
      )}
      <div className={styles.charts} data-stale={query.isPlaceholderData}>
        {metrics.map((metric) => (
          <Curve key={metric} metric={metric} answer={query.data} run={run} index={index} target={target} />
        ))}
      </div>
    </Section>
  );
}

interface CurveProps {
  metric: Metric;
  answer: SeriesAnswer | undefined;
  run: RunView;
  index: number;
  target: Target | undefined;
}

function Curve({ metric, answer, run, index, target }: CurveProps) {
  const axis = answer?.axis ?? "clock";
  const series = (answer?.series ?? []).filter((one) => one.metric === metric && one.x.length > 0);
  const share = isShare(metric);
  const kept = series[0];
  const meets = target && (target.metric ?? "validation_accuracy") === metric;
  return (
    <LineChart
      title={METRIC_LABELS[metric]}
      testId={`chart-${metric}`}
      height={240}
      note={kept && `${formatCount(kept.n)} of ${formatCount(kept.of)} points`}
      series={series.map((one) => ({
        label: METRIC_LABELS[metric],
        style: variantStyle(index),
        x: one.x,
        y: one.y,
      }))}
      xTitle={axisTitle(axis, run.simulated)}
      formatX={(value) => formatAxisValue(axis, value)}
      tickX={(value) => formatAxisTick(axis, value)}
      formatY={(value) => formatMetric(metric, value)}
      tickY={(value) => (share ? formatPercentTick(value) : formatNumber(value))}
      clamp={share ? [0, 1] : undefined}
      target={meets ? { value: target.value, label: "target" } : undefined}
    />
  );
}
