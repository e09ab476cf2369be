import { Group as Row } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { type AddedProps, addedTo, choicesOf } from "@/lib/charts/added-charts";
import { AddChart, asChart } from "@/lib/charts/chart-controls";
import { askedAxis } from "@/lib/charts/epochs";
import { type Zoom, zoomFrom, zoomText } from "@/lib/charts/zoom";
import type { RunView, Target } from "@/lib/client/types.gen";
import { CurveControls, LOG_SCALE, LOG_X, ShowAllButton } from "@/lib/ui/curve-controls";
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
  const added = addedTo(search.more, (more) => look({ more }));
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
          showAll={zoom && <ShowAllButton show={() => look({ x: undefined })} />}
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
        <AddChart choices={choices} add={added.add} />
      </Row>
      {!query.data && <LoadFault what="The curves could not be loaded." query={query} />}
      <div className={styles.charts} data-stale={query.isPlaceholderData}>
        {metrics.map((metric) => (
          <RunCurve key={metric} {...shared} metric={metric} over={axis} answer={query.data} />
        ))}
        {added.charts.map(({ key, ...one }) => (
          <AddedRunCurve key={key} {...shared} {...one} choices={choices} declared={declared} axis={axis} />
        ))}
      </div>
    </Section>
  );
}

/** A chart that somebody added. */
function AddedRunCurve(props: RunCurveLook & AddedProps) {
  const { chart, choices, declared, axis, change, zoom, onZoom, ...look } = props;
  const over = chart.axis ?? axis;
  const query = useSeries(look.run.id, [chart.metric], askedAxis(over));
  if (query.isError && !query.data) return <LoadFault what="This chart could not be loaded." query={query} />;
  return <RunCurve {...look} {...asChart(props, look.items !== undefined)} over={over} answer={query.data} />;
}
