import { getRouteApi } from "@tanstack/react-router";
import type { CommonMetric } from "@/lib/api/types";
import { LineChart } from "@/lib/charts/line-chart";
import { smoothed } from "@/lib/charts/smooth";
import { type Zoom, zoomFrom, zoomText } from "@/lib/charts/zoom";
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
import { CurveControls, LOG_SCALE, SMOOTH } from "@/lib/ui/curve-controls";
import { LoadFault } from "@/lib/ui/load-fault";
import { Section } from "@/lib/ui/section";
import { isTerminal } from "@/lib/ui/states";
import { useSteps } from "@/lib/views/use-steps";
import styles from "./run.module.css";
import type { RunSearch } from "./search";
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
  const search = route.useSearch();
  const axis = search.axis ?? "clock";
  const navigate = route.useNavigate();
  const steps = useSteps();
  const look = (changes: Partial<RunSearch>) =>
    navigate({ search: (old) => ({ ...old, ...changes }), replace: steps(changes), resetScroll: false });
  const zoom = zoomFrom(search.x);
  const metrics = metricsOf(run.evaluated_part);
  const query = useSeries(run.id, metrics, axis);
  return (
    <Section
      title="Curves"
      testId="run-curves"
      aside={
        <CurveControls
          showAll={zoom && (() => look({ x: undefined }))}
          ways={[
            {
              ...LOG_SCALE,
              on: search.scale === "log",
              turn: (on) => look({ scale: on ? "log" : undefined }),
            },
            {
              ...SMOOTH,
              on: search.smooth === "yes",
              turn: (on) => look({ smooth: on ? "yes" : undefined }),
            },
          ]}
          axis={axis}
          choose={(next) => look({ axis: next, x: undefined })}
        />
      }
    >
      {!query.data && <LoadFault what="The curves could not be loaded." query={query} />}
      <div className={styles.charts} data-stale={query.isPlaceholderData}>
        {metrics.map((metric) => (
          <Curve
            key={metric}
            metric={metric}
            answer={query.data}
            run={run}
            index={index}
            target={target}
            log={search.scale === "log"}
            smooth={search.smooth === "yes"}
            zoom={zoom}
            onZoom={(next) => look({ x: next && zoomText(next) })}
          />
        ))}
      </div>
    </Section>
  );
}

/** Metrics of evaluations; the others have a point for every few steps. */
const evaluated = (metric: CommonMetric) => metric.startsWith("validation_") || metric.startsWith("test_");

interface CurveProps {
  metric: CommonMetric;
  answer: SeriesAnswer | undefined;
  run: RunView;
  index: number;
  target: Target | undefined;
  log: boolean;
  smooth: boolean;
  zoom: Zoom | undefined;
  onZoom: (zoom: Zoom | undefined) => void;
}

function Curve({ metric, answer, run, index, target, log, smooth, zoom, onZoom }: CurveProps) {
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
      empty={isTerminal(run.state) ? "No points: the run ended before the first" : undefined}
      note={kept && `${formatCount(kept.n)} of ${formatCount(kept.of)} points`}
      series={series.flatMap(({ x, y }) => {
        const measured = { label: METRIC_LABELS[metric], style: variantStyle(index), x, y };
        return smooth && !evaluated(metric) ? smoothed(measured) : [measured];
      })}
      log={log && !share}
      xTitle={axisTitle(axis, run.simulated)}
      formatX={(value) => formatAxisValue(axis, value)}
      tickX={(value) => formatAxisTick(axis, value)}
      formatY={(value) => formatMetric(metric, value)}
      tickY={(value) => (share ? formatPercentTick(value) : formatNumber(value))}
      clamp={share ? [0, 1] : undefined}
      crossings={
        meets && axis === "clock" && run.time_to_target !== null
          ? [{ x: run.time_to_target, style: variantStyle(index) }]
          : []
      }
      evaluations={evaluated(metric) ? series.map(({ x }) => ({ x, style: variantStyle(index) })) : []}
      sync="run"
      zoom={zoom}
      onZoom={onZoom}
      target={meets ? { value: target.value, label: "target" } : undefined}
    />
  );
}
