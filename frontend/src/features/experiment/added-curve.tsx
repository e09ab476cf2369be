import { useQueryClient } from "@tanstack/react-query";
import { type CSSProperties, memo, useEffect, useRef, useState } from "react";
import type { AddedProps } from "@/lib/charts/added-charts";
import { ahead } from "@/lib/charts/ahead";
import { asChart } from "@/lib/charts/chart-controls";
import { chartLook } from "@/lib/charts/chart-look";
import { sameItems } from "@/lib/charts/drawn-by";
import { useNear } from "@/lib/charts/use-near";
import type { RunSummary } from "@/lib/client/types.gen";
import { LoadFault } from "@/lib/ui/load-fault";
import { crossingsOf } from "./crossings";
import styles from "./experiment.module.css";
import { type ChartsLook, MetricChart } from "./metric-chart";
import { Presence } from "./presence";
import { useCurves } from "./use-curves";

/** Until what is in view is there, ms: a chart out of view waits as long, and longer while the browser has something to do. */
const LATE = 4000;

interface AddedCurveProps extends ChartsLook, AddedProps {
  /** Of the experiment, as far as they are known. */
  readonly runs: readonly RunSummary[];
}

/**
 * A chart that somebody added. Out of view it is begun late, reads what it shows once, and stays as it is; that it comes near again
 * renders only what has changed meanwhile.
 */
export const AddedCurve = memo(function AddedCurve(props: AddedCurveProps) {
  const { chart, declared, experiment } = props;
  const place = useRef<HTMLDivElement>(null);
  const near = useNear(place);
  const [presence] = useState(() => new Presence(near));
  const queries = useQueryClient();
  useEffect(() => {
    presence.set(near);
    if (!near) return;
    // what the event stream has called stale while the chart was out of view
    const stale = { type: "active", predicate: isInvalidated } as const;
    void queries.refetchQueries(stale, { cancelRefetch: false });
  }, [near, presence, queries]);
  const { metric } = chart;
  return (
    <div ref={place}>
      {useBegun(near) ? (
        <Drawn of={props} near={near} presence={presence} />
      ) : (
        <figure
          className={styles.reserved}
          style={{ "--rows": experiment.variants.length } as CSSProperties}
          data-testid={`chart-${metric}`}
          data-points={0}
        >
          {
            chartLook(
              metric,
              declared.find(({ name }) => name === metric),
            ).title
          }
        </figure>
      )}
    </div>
  );
});

const isInvalidated = ({ state }: { state: { isInvalidated: boolean } }) => state.isInvalidated;

interface DrawnProps {
  readonly of: AddedCurveProps;
  readonly near: boolean;
  readonly presence: Presence;
}

const Drawn = memo(function Drawn({ of, presence }: DrawnProps) {
  const { chart, choices, declared, axis, change, zoom, onZoom, runs, ...look } = of;
  const { experiment, group, hidden } = look;
  const over = chart.axis ?? axis;
  const { query, seeded, drawn } = useCurves(experiment, group, over, [chart.metric], runs, presence);
  if (query.isError && !query.data) return <LoadFault what="This chart could not be loaded." query={query} />;
  return (
    <MetricChart
      {...look}
      {...asChart(of, Boolean(experiment.training_items))}
      axis={drawn}
      // until its answer is there, that of the metric before stands
      bands={seeded.filter(({ band }) => band.metric === chart.metric)}
      crossings={crossingsOf(experiment, seeded, runs, hidden, drawn)}
      presence={presence}
    />
  );
}, staysAsItIs);

/** What is out of view stays until it comes near, or is of something else: a zoom renders what is seen. */
function staysAsItIs({ of: before }: DrawnProps, { of: now, near }: DrawnProps): boolean {
  const subject = ({ chart, experiment }: AddedCurveProps) => [
    chart.metric,
    chart.axis,
    experiment.training_items,
  ];
  return before === now || (!near && sameItems(subject(before), subject(now)));
}

/** Whether a chart was near, or its time has come. */
function useBegun(near: boolean): boolean {
  const [begun, setBegun] = useState(near);
  if (near && !begun) setBegun(true);
  useEffect(() => {
    let end: (() => void) | undefined;
    const timer = setTimeout(() => {
      end = ahead(() => setBegun(true));
    }, LATE);
    return () => {
      clearTimeout(timer);
      end?.();
    };
  }, []);
  return begun || near;
}
