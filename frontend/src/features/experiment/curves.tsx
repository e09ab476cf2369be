import { Group as Row, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { Metric } from "@/lib/api/types";
import { type AddedProps, addedTo, choicesOf } from "@/lib/charts/added-charts";
import { AddChart } from "@/lib/charts/chart-controls";
import { zoomText } from "@/lib/charts/zoom";
import type { BandAnswer, ExperimentView } from "@/lib/client/types.gen";
import { CurveControls, LOG_SCALE, LOG_X, ShowAllButton } from "@/lib/ui/curve-controls";
import { LoadFault } from "@/lib/ui/load-fault";
import { Section } from "@/lib/ui/section";
import { useSteps } from "@/lib/views/use-steps";
import { AddedCurve } from "./added-curve";
import { METRICS } from "./asked";
import { crossingsOf } from "./crossings";
import { curveWords, MANY } from "./curve-words";
import styles from "./experiment.module.css";
import { GroupPicker } from "./group-picker";
import type { Group } from "./groups";
import { type ChartsLook, MetricChart } from "./metric-chart";
import { ALWAYS } from "./presence";
import { type ExperimentSearch, hiddenVariants, toggled } from "./search";
import { useCurves } from "./use-curves";
import { useFurther } from "./use-experiment";
import { useMarks } from "./use-marks";
import { MOST_RUNS } from "./use-seeds";
import { useIsZoomed } from "./zoomed";

const route = getRouteApi("/experiments/$experimentId");

interface CurvesProps {
  experiment: ExperimentView;
  groups: readonly Group[];
  group: Group | undefined;
}

/** Of a workload that declares nothing more, or whose declarations are not known yet. */
const NOTHING: readonly never[] = [];

/** Accuracy and loss of the center, and charts that were added: mean over seeds with its 95% band, their median, or each seed. */
export function Curves({ experiment, groups, group }: CurvesProps) {
  const search = useLook();
  const { axis = "clock", more, hide } = search;
  const navigate = route.useNavigate();
  const steps = useSteps();
  const declared = useFurther(experiment.id).data?.items ?? NOTHING;
  const runs = useMarks(experiment);
  const { query, seeded, drawn } = useCurves(experiment, group, axis, METRICS, runs);
  const many = new Set(seeded.flatMap(({ band }) => band.runs)).size > MOST_RUNS;
  const look = useCallback(
    (changes: Partial<ExperimentSearch>) =>
      navigate({ search: (old) => ({ ...old, ...changes }), replace: steps(changes), resetScroll: false }),
    [navigate, steps],
  );
  const hidden = useMemo(() => hiddenVariants(hide), [hide]);
  const found = drawnOf(query.data).join();
  const usual = useMemo(() => found.split(",") as Metric[], [found]);
  const choices = useMemo(() => choicesOf(usual, declared), [usual, declared]);
  const added = useMemo(() => addedTo(more, (next) => look({ more: next })), [more, look]);
  const crossings = crossingsOf(experiment, seeded, runs, hidden, drawn);
  // the same as long as nothing of it changes: new values of one chart render no other one
  const shared = useMemo<ChartsLook & Pick<AddedProps, "zoom" | "onZoom">>(
    () => ({
      experiment,
      group,
      hidden,
      toggle: (index) => look({ hide: toggled(hidden, index) }),
      close: search.y === "close",
      log: search.scale === "log",
      logX: search.xscale === "log",
      show: search.seeds,
      smooth: search.smooth,
      zoom: undefined, // charts that share it read it themselves
      onZoom: (next) => look({ x: next && zoomText(next) }),
    }),
    [experiment, group, hidden, look, search],
  );
  return (
    <Section
      title="Curves"
      testId="curves"
      aside={<Ways search={search} look={look} many={many} epochs={Boolean(experiment.training_items)} />}
    >
      <Row justify="space-between" gap="4px 20px" mb={14}>
        <AddChart choices={choices} add={added.add} />
        <GroupPicker groups={groups} group={group} />
      </Row>
      {!query.data && <LoadFault what="The curves could not be loaded." query={query} />}
      <div className={styles.charts} data-stale={query.isPlaceholderData}>
        {usual.map((metric) => (
          <MetricChart
            key={metric}
            {...shared}
            metric={metric}
            axis={drawn}
            bands={seeded.filter(({ band }) => band.metric === metric)}
            crossings={crossings}
            presence={ALWAYS}
          />
        ))}
        {added.charts.map(({ key, ...one }) => (
          <AddedCurve
            key={key}
            {...shared}
            {...one}
            choices={choices}
            declared={declared}
            axis={axis}
            runs={runs}
          />
        ))}
      </div>
      <Text fz={12.5} c="dimmed" maw="92ch" mt={16}>
        {curveWords({
          show: search.seeds,
          many,
          target: usual.includes(experiment.spec.target?.metric ?? "validation_accuracy"),
          crossings: crossings.length > 0,
        })}
      </Text>
    </Section>
  );
}

/** What is drawn, and how. The part of the axis in view, which is in the address, too, is read by those whom it concerns. */
function useLook(): Look {
  return route.useSearch({ select: ({ x, ...look }) => look, structuralSharing: true });
}

/** Shows all of the axis again. */
function ShowAll({ show }: { show: () => void }) {
  return useIsZoomed() && <ShowAllButton show={show} />;
}

type Look = Omit<ExperimentSearch, "x">;

interface WaysProps {
  search: Look;
  /** So many runs that no single seeds are drawn. */
  many: boolean;
  epochs: boolean;
  look: (changes: Partial<ExperimentSearch>) => void;
}

/** How all curves are drawn, and over what. */
function Ways({ search, look, many, epochs }: WaysProps) {
  const off = many ? MANY : undefined;
  return (
    <CurveControls
      showAll={<ShowAll show={() => look({ x: undefined })} />}
      ways={[
        {
          name: "close-up",
          label: "Close-up",
          title: "The better end alone: the top of accuracies, the bottom of losses",
          on: search.y === "close",
          turn: (on) => look({ y: on ? "close" : undefined }),
        },
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
        {
          name: "median",
          label: "Median",
          title: "Median and range over the seeds, in place of mean and 95% interval",
          off,
          on: search.seeds === "median",
          turn: (on) => look({ seeds: on ? "median" : undefined }),
        },
        {
          name: "each-seed",
          label: "Each seed",
          title: "A thin line for each seed",
          off,
          on: search.seeds === "each",
          turn: (on) => look({ seeds: on ? "each" : undefined }),
        },
      ]}
      smoothing={{ strength: search.smooth, set: (smooth) => look({ smooth }) }}
      axis={search.axis ?? "clock"}
      epochs={epochs}
      choose={(next) => look({ axis: next, x: undefined })}
    />
  );
}

/** Evaluations of the validation part, and of the test part where runs were made without one. */
function drawnOf(answer: BandAnswer | undefined): readonly Metric[] {
  const found = METRICS.filter((metric) =>
    answer?.bands.some((band) => band.metric === metric && band.runs.length > 0),
  );
  return found.length > 0 ? found : ["validation_accuracy", "validation_loss"];
}
