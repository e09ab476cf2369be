import { Group as Row } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import type { ChartAxis } from "@/lib/api/types";
import { type AddedChart, addressOf, chartsIn, choicesOf } from "@/lib/charts/added-charts";
import { AddChart, ChartHead } from "@/lib/charts/chart-controls";
import { askedAxis } from "@/lib/charts/epochs";
import { type Zoom, zoomFrom, zoomText } from "@/lib/charts/zoom";
import type { FurtherMetricView, RunView, Target } from "@/lib/client/types.gen";
import { CurveControls, LOG_SCALE, LOG_X } from "@/lib/ui/curve-controls";
import { LoadFault } from "@/lib/ui/load-fault";
import { Section } from "@/lib/ui/section";
import { useSteps } from "@/lib/views/use-steps";
import styles from "./run.module.css";
import { RunCurve, type RunCurveLook } from "./run-curve";
import type { RunSearch } from "./search";
import { metricsOf, trainingItems, useFurtherOf, useSeries } from "./use-run";

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
  const items = trainingItems(run);
  const query = useSeries(run.id, metrics, askedAxis(axis));
  const declared = useFurtherOf(run.experiment_id).data?.items ?? [];
  const choices = choicesOf(metrics, declared);
  const added = chartsIn(search.more);
  const have = (charts: readonly AddedChart[]) => look({ more: addressOf(charts) });
  const shared = {
    ...{ run, index, target, items, zoom },
    log: search.scale === "log",
    logX: search.xscale === "log",
    smooth: search.smooth,
    onZoom: (next: Zoom | undefined) => look({ x: next && zoomText(next) }),
  };
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
              ...LOG_X,
              on: search.xscale === "log",
              turn: (on) => look({ xscale: on ? "log" : undefined }),
            },
          ]}
          smoothing={{ strength: search.smooth, set: (smooth) => look({ smooth }) }}
          axis={axis}
          epochs={items !== undefined}
          choose={(next) => look({ axis: next, x: undefined })}
        />
      }
    >
      <Row mb={14}>
        <AddChart choices={choices} add={(metric) => have([...added, { metric, axis: undefined }])} />
      </Row>
      {!query.data && <LoadFault what="The curves could not be loaded." query={query} />}
      <div className={styles.charts} data-stale={query.isPlaceholderData}>
        {metrics.map((metric) => (
          <RunCurve key={metric} {...shared} metric={metric} over={axis} answer={query.data} />
        ))}
        {added.map((chart, at) => (
          <AddedRunCurve
            // biome-ignore lint/suspicious/noArrayIndexKey: a chart is known by its place, what it shows changes
            key={at}
            {...shared}
            chart={chart}
            choices={choices}
            declared={declared}
            axis={axis}
            change={(next) => have(added.flatMap((one, i) => (i === at ? (next ?? []) : one)))}
          />
        ))}
      </div>
    </Section>
  );
}

interface AddedProps extends RunCurveLook {
  chart: AddedChart;
  choices: ReturnType<typeof choicesOf>;
  declared: readonly FurtherMetricView[];
  /** Of the page. */
  axis: ChartAxis;
  change: (chart: AddedChart | undefined) => void;
  zoom: Zoom | undefined;
  onZoom: (zoom: Zoom | undefined) => void;
}

/** A chart that somebody added. Over an axis of its own it has a zoom of its own, too. */
function AddedRunCurve({ chart, choices, declared, axis, change, zoom, onZoom, ...look }: AddedProps) {
  const over = chart.axis ?? axis;
  const query = useSeries(look.run.id, [chart.metric], askedAxis(over));
  if (query.isError && !query.data) return <LoadFault what="This chart could not be loaded." query={query} />;
  return (
    <RunCurve
      {...look}
      metric={chart.metric}
      declared={declared.find(({ name }) => name === chart.metric)}
      head={
        <ChartHead
          chart={chart}
          choices={choices}
          axis={axis}
          epochs={look.items !== undefined}
          change={change}
        />
      }
      over={over}
      answer={query.data}
      {...(over === axis ? { zoom, onZoom } : {})}
    />
  );
}
