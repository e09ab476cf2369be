import { Group as Row, Switch } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { LineChart } from "@/lib/charts/line-chart";
import type { TargetLine } from "@/lib/charts/series";
import type { Band, BandAnswer, ExperimentView } from "@/lib/client/types.gen";
import { formatChosenPercent, formatCount, formatNumber, formatPercentTick } from "@/lib/format/numbers";
import {
  axisTitle,
  formatAxisTick,
  formatAxisValue,
  formatMetric,
  isShare,
  METRIC_LABELS,
} from "@/lib/format/quantities";
import { AxisPicker } from "@/lib/ui/axis-picker";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { Section } from "@/lib/ui/section";
import { Tag } from "@/lib/ui/tag";
import { bandSeries } from "./band-series";
import styles from "./experiment.module.css";
import { GroupPicker } from "./group-picker";
import { bandsOf, type Group, groupLabel } from "./groups";
import { Legend } from "./legend";
import { hiddenVariants } from "./search";
import { type Evaluated, METRICS, useBands } from "./use-experiment";

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
        <Row gap="6px 12px" justify="flex-end" miw={0}>
          <Switch
            size="xs"
            label="Close-up"
            data-testid="close-up"
            checked={search.y === "close"}
            onChange={(event) => {
              const y = event.currentTarget.checked ? ("close" as const) : undefined;
              navigate({ search: (old) => ({ ...old, y }), replace: true, resetScroll: false });
            }}
          />
          <AxisPicker
            axis={axis}
            choose={(next) =>
              navigate({ search: (old) => ({ ...old, axis: next }), replace: true, resetScroll: false })
            }
          />
        </Row>
      }
    >
      <div className={styles.controls}>
        <Legend experiment={experiment} hidden={hidden} />
        <GroupPicker groups={groups} group={group} />
      </div>
      {query.isError && !query.data && (
        <ErrorPanel what="The curves could not be read." error={query.error} retry={() => query.refetch()} />
      )}
      <div className={styles.charts} data-stale={query.isPlaceholderData}>
        {drawn(query.data).map((metric) => (
          <MetricChart
            key={metric}
            metric={metric}
            answer={query.data}
            bands={bands.filter(
              (band) => band.metric === metric && !hidden.has(experiment.variants.indexOf(band.variant)),
            )}
            experiment={experiment}
            group={group}
            close={search.y === "close"}
          />
        ))}
      </div>
      <p className={styles.foot}>
        Lines are means over seeds, with their 95% t interval where three or more are left. A thin line has
        fewer seeds behind it than the thick one it continues: the others reached the target earlier, or are
        not there yet. Drag to zoom, double click to see all.
      </p>
    </Section>
  );
}

/** Evaluations of the validation part, and of the test part where runs were made without one. */
function drawn(answer: BandAnswer | undefined): readonly Evaluated[] {
  const found = METRICS.filter((metric) =>
    answer?.bands.some((band) => band.metric === metric && band.runs.length > 0),
  );
  return found.length > 0 ? found : ["validation_accuracy", "validation_loss"];
}

function targetOf(experiment: ExperimentView, metric: Band["metric"]): TargetLine | undefined {
  const target = experiment.spec.target;
  if (!target || (target.metric ?? "validation_accuracy") !== metric) return undefined;
  return {
    value: target.value,
    label: `target ${isShare(metric) ? formatChosenPercent(target.value) : formatNumber(target.value)}`,
  };
}

interface MetricChartProps {
  metric: Evaluated;
  answer: BandAnswer | undefined;
  bands: readonly Band[];
  experiment: ExperimentView;
  group: Group | undefined;
  close: boolean;
}

function MetricChart({ metric, answer, bands, experiment, group, close }: MetricChartProps) {
  const axis = answer?.axis ?? "clock";
  const simulated = group?.simulated ?? false;
  const seeds = bands.reduce((most, band) => Math.max(most, band.runs.length), 0);
  const points = bands.reduce((most, band) => Math.max(most, band.x.length), 0);
  const accuracy = isShare(metric);
  return (
    <div>
      <LineChart
        title={METRIC_LABELS[metric]}
        testId={`chart-${metric}`}
        note={
          points > 0
            ? `${formatCount(points)} grid points, ${seeds} ${seeds === 1 ? "seed" : "seeds"}`
            : undefined
        }
        empty={experiment.state === "queued" ? "Waiting for free slots" : "No evaluation yet"}
        series={bands.flatMap((band) => bandSeries(band, experiment.variants.indexOf(band.variant)))}
        xTitle={axisTitle(axis, simulated)}
        formatX={(value) => formatAxisValue(axis, value)}
        tickX={(value) => formatAxisTick(axis, value)}
        formatY={(value) => formatMetric(metric, value)}
        tickY={(value) => (accuracy ? formatPercentTick(value) : formatNumber(value))}
        clamp={accuracy ? [0, 1] : undefined}
        close={close ? (accuracy ? "top" : "bottom") : undefined}
        target={targetOf(experiment, metric)}
      />
      <div className={styles.under}>
        {group && groupLabel(group)} {simulated && <Tag kind="simulated" />}
        {group?.oversubscribed && <Tag kind="oversubscribed" />}
      </div>
    </div>
  );
}
