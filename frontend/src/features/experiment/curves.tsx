import { getRouteApi } from "@tanstack/react-router";
import type { Metric } from "@/lib/api/types";
import type { Crossing } from "@/lib/charts/series";
import { zoomFrom, zoomText } from "@/lib/charts/zoom";
import type { Band, BandAnswer, ExperimentView, RunSummary } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";
import { CurveControls, LOG_SCALE } from "@/lib/ui/curve-controls";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { Section } from "@/lib/ui/section";
import styles from "./experiment.module.css";
import { FurtherPicker } from "./further-picker";
import { GroupPicker } from "./group-picker";
import { bandsOf, type Group } from "./groups";
import { Legend } from "./legend";
import { MetricChart } from "./metric-chart";
import { type ExperimentSearch, furtherOf, hiddenVariants } from "./search";
import { METRICS, useBands, useFurther, useRuns } from "./use-experiment";
import { seedsOf, useSeeds } from "./use-seeds";

const route = getRouteApi("/experiments/$experimentId");

interface CurvesProps {
  experiment: ExperimentView;
  groups: readonly Group[];
  group: Group | undefined;
}

/** Accuracy and loss of the center, and further metrics that are chosen: mean over seeds with its 95% band, or each seed, over the axis that the URL names. */
export function Curves({ experiment, groups, group }: CurvesProps) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const axis = search.axis ?? "clock";
  const declared = useFurther(experiment.id).data?.items ?? [];
  const further = furtherOf(search.more);
  const query = useBands(experiment.id, axis, further);
  const hidden = hiddenVariants(search.hide);
  const zoom = zoomFrom(search.x);
  const look = (changes: Partial<ExperimentSearch>) =>
    navigate({ search: (old) => ({ ...old, ...changes }), replace: true, resetScroll: false });
  const ofGroup = group ? bandsOf(query.data?.bands ?? [], group) : [];
  const bands = ofGroup.filter((band) => !hidden.has(experiment.variants.indexOf(band.variant)));
  const single = useSeeds(experiment.id, ofGroup, axis);
  const runs = useRuns(experiment.id, experiment.spec.tuning ? true : undefined).data?.items ?? [];
  const numbers = new Map(runs.map((run) => [run.id, run.seed]));
  const shown = query.data?.axis ?? axis;
  return (
    <Section
      title="Curves"
      testId="curves"
      aside={
        <CurveControls
          showAll={zoom && (() => look({ x: undefined }))}
          ways={[
            {
              name: "close-up",
              label: "Close-up",
              on: search.y === "close",
              turn: (on) => look({ y: on ? "close" : undefined }),
            },
            {
              ...LOG_SCALE,
              on: search.scale === "log",
              turn: (on) => look({ scale: on ? "log" : undefined }),
            },
            {
              name: "median",
              label: "Median",
              on: search.seeds === "median",
              turn: (on) => look({ seeds: on ? "median" : undefined }),
            },
            {
              name: "each-seed",
              label: "Each seed",
              on: search.seeds === "each",
              turn: (on) => look({ seeds: on ? "each" : undefined }),
            },
          ]}
          axis={axis}
          choose={(next) => look({ axis: next, x: undefined })}
        />
      }
    >
      <div className={styles.controls}>
        <Legend experiment={experiment} hidden={hidden} />
        <FurtherPicker
          declared={declared}
          chosen={further}
          choose={(names) => look({ more: names.join(".") || undefined })}
        />
        <GroupPicker groups={groups} group={group} />
      </div>
      {query.isError && !query.data && (
        <ErrorPanel what="The curves could not be read." error={query.error} retry={() => query.refetch()} />
      )}
      <div className={styles.charts} data-stale={query.isPlaceholderData}>
        {[...drawn(query.data), ...further].map((metric) => (
          <MetricChart
            key={metric}
            metric={metric}
            declared={declared.find(({ name }) => name === metric)}
            answer={query.data}
            bands={bands
              .filter((band) => band.metric === metric)
              .map((band) => ({ band, seeds: seedsOf(band, single.data, shown, numbers) }))}
            experiment={experiment}
            group={group}
            close={search.y === "close"}
            log={search.scale === "log"}
            show={search.seeds}
            crossings={crossingsOf(experiment, bands, runs)}
            zoom={zoom}
            onZoom={(next) => look({ x: next && zoomText(next) })}
          />
        ))}
      </div>
      <p className={styles.foot}>
        {search.seeds === "median"
          ? "Lines are medians of the seeds, from the least to the greatest of them. A median ends where its first "
          : "Lines are means over seeds, with their 95% t interval from three seeds on. A mean ends where its first "}
        seed ends; from there on each other seed has a pale line of its own. Ticks at the foot are
        evaluations; a dot on the line of the target is a run that met it. Drag to zoom both charts, double
        click to see all.
      </p>
    </Section>
  );
}

/** When the runs behind the curves met the target, each as a dot in the colour of its variant. */
function crossingsOf(
  experiment: ExperimentView,
  bands: readonly Band[],
  runs: readonly RunSummary[],
): Crossing[] {
  const drawn = new Set(bands.flatMap((band) => band.runs));
  return runs.flatMap(({ id, variant, time_to_target: x }) =>
    x !== null && drawn.has(id) ? { x, style: variantStyle(experiment.variants.indexOf(variant)) } : [],
  );
}

/** Evaluations of the validation part, and of the test part where runs were made without one. */
function drawn(answer: BandAnswer | undefined): readonly Metric[] {
  const found = METRICS.filter((metric) =>
    answer?.bands.some((band) => band.metric === metric && band.runs.length > 0),
  );
  return found.length > 0 ? found : ["validation_accuracy", "validation_loss"];
}
