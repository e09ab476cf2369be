import { memo, type ReactNode, useEffect, useRef, useState } from "react";
import type { ChartAxis } from "@/lib/api/types";
import type { AddedChart, choicesOf } from "@/lib/charts/added-charts";
import { ChartHead } from "@/lib/charts/chart-controls";
import { sameItems } from "@/lib/charts/drawn-by";
import { useNear } from "@/lib/charts/use-near";
import type { Zoom } from "@/lib/charts/zoom";
import type { FurtherMetricView } from "@/lib/client/types.gen";
import { LoadFault } from "@/lib/ui/load-fault";
import { crossingsOf } from "./crossings";
import { type ChartsLook, MetricChart } from "./metric-chart";
import { useCurves } from "./use-curves";

/** Until what is in view is there, ms: a chart out of view waits as long, and is read once. */
const LATE = 4000;

interface AddedCurveProps extends ChartsLook {
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
export function AddedCurve(props: AddedCurveProps) {
  const { chart, choices, declared, axis, change, zoom, onZoom, ...look } = props;
  const place = useRef<HTMLDivElement>(null);
  const near = useNear(place);
  const late = useLate(LATE);
  const { query, seeded, drawn, runs, data } = useCurves(
    look.experiment,
    look.group,
    chart.axis ?? axis,
    [chart.metric],
    near ? "now" : late ? "once" : "not",
  );
  const shared = chart.axis === undefined || chart.axis === axis;
  const failed = query.isError && !query.data;
  return (
    <div ref={place}>
      {failed ? (
        <LoadFault what="This chart could not be loaded." query={query} />
      ) : (
        <Still
          moves={near}
          of={[...data, chart.metric, chart.axis, look.experiment.training_items]}
          draw={() => (
            <MetricChart
              {...look}
              metric={chart.metric}
              declared={declared.find(({ name }) => name === chart.metric)}
              head={
                <ChartHead
                  chart={chart}
                  choices={choices}
                  axis={axis}
                  epochs={Boolean(look.experiment.training_items)}
                  change={change}
                />
              }
              axis={drawn}
              // until its answer is there, that of the metric before stands
              bands={seeded.filter(({ band }) => band.metric === chart.metric)}
              crossings={crossingsOf(look.experiment, seeded, runs, look.hidden, drawn)}
              {...(shared ? { zoom, onZoom } : {})}
            />
          )}
        />
      )}
    </div>
  );
}

interface StillProps {
  /** It is in view, or near. */
  readonly moves: boolean;
  /** What it is of. */
  readonly of: readonly unknown[];
  readonly draw: () => ReactNode;
}

/** What is out of view stays as it is until it comes near, or is of something else: a zoom renders what is seen. */
const Still = memo(
  ({ draw }: StillProps) => draw(),
  (before, now) => !now.moves && sameItems(before.of, now.of),
);

/** Whether a component has been shown for so long, ms. */
function useLate(after: number): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), after);
    return () => clearTimeout(timer);
  }, [after]);
  return late;
}
