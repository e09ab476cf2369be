import { memo, type ReactNode, useEffect, useRef, useState } from "react";
import type { AddedProps } from "@/lib/charts/added-charts";
import { asChart } from "@/lib/charts/chart-controls";
import { sameItems } from "@/lib/charts/drawn-by";
import { useNear } from "@/lib/charts/use-near";
import { LoadFault } from "@/lib/ui/load-fault";
import { crossingsOf } from "./crossings";
import { type ChartsLook, MetricChart } from "./metric-chart";
import { useCurves } from "./use-curves";
import type { Wanted } from "./use-experiment";

/** Until what is in view is there, ms: a chart out of view waits as long, and is read once. */
const LATE = 4000;

/** A chart that somebody added. Out of view it reads what it shows once, late, and stays as it is. */
export function AddedCurve(props: ChartsLook & AddedProps) {
  const { chart, experiment } = props;
  const place = useRef<HTMLDivElement>(null);
  const near = useNear(place);
  const late = useLate(LATE);
  return (
    <div ref={place}>
      <Still
        moves={near}
        of={[near, late, chart.metric, chart.axis, experiment.training_items]}
        draw={() => <Drawn {...props} wanted={near ? "now" : late ? "once" : "not"} />}
      />
    </div>
  );
}

function Drawn({ wanted, ...props }: ChartsLook & AddedProps & { wanted: Wanted }) {
  const { chart, choices, declared, axis, change, zoom, onZoom, ...look } = props;
  const { experiment, group, hidden } = look;
  const over = chart.axis ?? axis;
  const { query, seeded, drawn, runs } = useCurves(experiment, group, over, [chart.metric], wanted);
  if (query.isError && !query.data) return <LoadFault what="This chart could not be loaded." query={query} />;
  return (
    <MetricChart
      {...look}
      {...asChart(props, Boolean(experiment.training_items))}
      axis={drawn}
      // until its answer is there, that of the metric before stands
      bands={seeded.filter(({ band }) => band.metric === chart.metric)}
      crossings={crossingsOf(experiment, seeded, runs, hidden, drawn)}
    />
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
