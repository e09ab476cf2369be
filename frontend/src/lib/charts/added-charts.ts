import type { ChartAxis, Metric } from "@/lib/api/types";
import type { FurtherMetricView } from "@/lib/client/types.gen";
import { AXES } from "@/lib/format/quantities";
import { furtherOf } from "./added-names";
import { chartLook, OF_STEPS } from "./chart-look";
import type { Zoom } from "./zoom";

/** A chart that somebody added: a metric over an axis; undefined: over that of the page. */
export interface AddedChart {
  readonly metric: Metric;
  readonly axis: ChartAxis | undefined;
}

/** What an added chart is of the page that has it. */
export interface AddedProps {
  readonly chart: AddedChart;
  readonly choices: ReturnType<typeof choicesOf>;
  readonly declared: readonly FurtherMetricView[];
  /** Of the page. */
  readonly axis: ChartAxis;
  /** Shows another one in its place, or none. */
  readonly change: (chart: AddedChart | undefined) => void;
  readonly zoom: Zoom | undefined;
  readonly onZoom: (zoom: Zoom | undefined) => void;
}

/** The charts that an address names, each known by its place with what changes it, and what adds one. */
export function addedTo(more: string | undefined, put: (more: string | undefined) => void) {
  const charts = chartsIn(more);
  const have = (next: readonly AddedChart[]) => put(addressOf(next));
  return {
    add: (metric: Metric) => have([...charts, { metric, axis: undefined }]),
    charts: charts.map((chart, key) => ({
      key,
      chart,
      change: (next: AddedChart | undefined) =>
        have(charts.flatMap((one, i) => (i === key ? (next ?? []) : one))),
    })),
  };
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
