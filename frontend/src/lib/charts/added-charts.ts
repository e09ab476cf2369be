import type { ChartAxis, Metric } from "@/lib/api/types";
import type { FurtherMetricView } from "@/lib/client/types.gen";
import { AXES } from "@/lib/format/quantities";
import { furtherOf } from "./added-names";
import { chartLook, OF_STEPS } from "./chart-look";

/** A chart that somebody added: a metric over an axis; undefined: over that of the page. */
export interface AddedChart {
  readonly metric: Metric;
  readonly axis: ChartAxis | undefined;
}

/** The charts that an address names. */
export function chartsIn(more: string | undefined): AddedChart[] {
  return furtherOf(more).map((part) => {
    const [metric = "", axis] = part.split("-");
    return { metric, axis: AXES.find((known) => known === axis) };
  });
}

/** How an address names charts. */
export function addressOf(charts: readonly AddedChart[]): string | undefined {
  return charts.map(({ metric, axis }) => (axis ? `${metric}-${axis}` : metric)).join(".") || undefined;
}

/** The metrics that a chart can have, under what they are of: those that are drawn anyway, of steps, of the workload. */
export function choicesOf(drawn: readonly Metric[], declared: readonly FurtherMetricView[]) {
  const all = [...new Set([...drawn, ...OF_STEPS])].map((value) => ({
    value,
    label: chartLook(value).title,
  }));
  const own = declared.map(({ name, title }) => ({ value: name, label: title }));
  return [
    { group: "Of every run", items: all },
    ...(own.length > 0 ? [{ group: "Of this workload", items: own }] : []),
  ];
}
