import { Button, Group as Row, Switch } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { LineChart } from "@/lib/charts/line-chart";
import type { Crossing, TargetLine } from "@/lib/charts/series";
import { type Zoom, zoomFrom, zoomText } from "@/lib/charts/zoom";
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
import { variantStyle } from "@/lib/theme/palette";
import { AxisPicker } from "@/lib/ui/axis-picker";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { Section } from "@/lib/ui/section";
import { Tag } from "@/lib/ui/tag";
import { bandSeries } from "./band-series";
import styles from "./experiment.module.css";
import { GroupPicker } from "./group-picker";
import { bandsOf, type Group, groupLabel } from "./groups";
import { Legend } from "./legend";
import { type ExperimentSearch, hiddenVariants } from "./search";
import { type Evaluated, METRICS, useBands, useRuns } from "./use-experiment";

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
  const zoom = zoomFrom(search.x);
  const look = (changes: Partial<ExperimentSearch>) =>
    navigate({ search: (old) => ({ ...old, ...changes }), replace: true, resetScroll: false });
  const bands = (group ? bandsOf(query.data?.bands ?? [], group) : []).filter(
    (band) => !hidden.has(experiment.variants.indexOf(band.variant)),
  );
  const crossings = useCrossings(experiment, bands);
  return (
    <Section
      title="Curves"
      testId="curves"
      aside={
        <Row gap="6px 12px" justify="flex-end" miw={0}>
          {zoom && (
            <Button size="compact-xs" variant="default" onClick={() => look({ x: undefined })}>
              Show all
            </Button>
          )}
          <Switch
            size="xs"
            label="Close-up"
            data-testid="close-up"
            checked={search.y === "close"}
            onChange={(event) => look({ y: event.currentTarget.checked ? "close" : undefined })}
          />
          <AxisPicker axis={axis} choose={(next) => look({ axis: next, x: undefined })} />
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
            bands={bands.filter((band) => band.metric === metric)}
            experiment={experiment}
            group={group}
            close={search.y === "close"}
            crossings={crossings}
            zoom={zoom}
            onZoom={(next) => look({ x: next && zoomText(next) })}
          />
        ))}
      </div>
      <p className={styles.foot}>
        Lines are means over seeds, with their 95% t interval where three or more are left. A thin line has
        fewer seeds behind it: the others reached the target earlier, or are not there yet; it is broken where
        one leaves. A dot on the line of the target is a run that met it. Drag to zoom both charts, double
        click to see all.
      </p>
    </Section>
  );
}

/** When the runs behind the curves met the target, each as a dot in the colour of its variant. */
function useCrossings(experiment: ExperimentView, bands: readonly Band[]): Crossing[] {
  const runs = useRuns(experiment.id, experiment.spec.tuning ? true : undefined);
  const drawn = new Set(bands.flatMap((band) => band.runs));
  return (runs.data?.items ?? []).flatMap(({ id, variant, time_to_target: x }) =>
    x !== null && drawn.has(id) ? { x, style: variantStyle(experiment.variants.indexOf(variant)) } : [],
  );
}

/** Evaluations of the validation part, and of the test part where runs were made without one. */
function drawn(answer: BandAnswer | undefined): readonly Evaluated[] {
  const found = METRICS.filter((metric) =>
    answer?.bands.some((band) => band.metric === metric && band.runs.length > 0),
  );
  return found.length > 0 ? found : ["validation_accuracy", "validation_loss"];
}

/** "3 seeds, 9 evaluations each". */
function behind(bands: readonly Band[]): string {
  const seeds = Math.max(0, ...bands.map((band) => band.runs.length));
  const counts = bands.flatMap((band) => band.evaluations ?? []);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const evaluations = least === most ? formatCount(most) : `${formatCount(least)} to ${formatCount(most)}`;
  const told = counts.length > 0 ? `, ${evaluations} evaluations each` : "";
  return `${seeds} ${seeds === 1 ? "seed" : "seeds"}${told}`;
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
  crossings: readonly Crossing[];
  zoom: Zoom | undefined;
  onZoom: (zoom: Zoom | undefined) => void;
}

function MetricChart({
  metric,
  answer,
  bands,
  experiment,
  group,
  close,
  crossings,
  zoom,
  onZoom,
}: MetricChartProps) {
  const axis = answer?.axis ?? "clock";
  const simulated = group?.simulated ?? false;
  const points = bands.reduce((most, band) => Math.max(most, band.x.length), 0);
  const accuracy = isShare(metric);
  const target = targetOf(experiment, metric);
  const format = (value: number) => formatMetric(metric, value);
  return (
    <div>
      <LineChart
        title={METRIC_LABELS[metric]}
        testId={`chart-${metric}`}
        note={points > 0 ? behind(bands) : undefined}
        empty={experiment.state === "queued" ? "Waiting for free slots" : "No evaluation yet"}
        series={bands.flatMap((band) => bandSeries(band, experiment.variants.indexOf(band.variant), format))}
        xTitle={axisTitle(axis, simulated)}
        formatX={(value) => formatAxisValue(axis, value)}
        tickX={(value) => formatAxisTick(axis, value)}
        formatY={format}
        tickY={(value) => (accuracy ? formatPercentTick(value) : formatNumber(value))}
        clamp={accuracy ? [0, 1] : undefined}
        close={close ? (accuracy ? "top" : "bottom") : undefined}
        target={target}
        crossings={target && axis === "clock" ? crossings : []}
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
