import { querySeries } from "@/lib/client/sdk.gen";
import type { Series, SeriesAnswer, SeriesQuery } from "@/lib/client/types.gen";

const of = ({ run, metric }: Pick<Series, "run" | "metric">) => `${run} ${metric}`;

/** Marks of the series that are known, in the order of a query; undefined where none is. */
export function marksOf(
  { runs, metrics }: Pick<SeriesQuery, "runs" | "metrics">,
  before: SeriesAnswer | undefined,
): string[] | undefined {
  const known = new Map(before?.series.map((one) => [of(one), one.mark ?? ""]));
  const marks = runs.flatMap((run) => metrics.map((metric) => known.get(of({ run, metric })) ?? ""));
  return marks.some(Boolean) ? marks : undefined;
}

/** An answer with whole series: what was known of each, and what follows; one that did not change is the very same. */
export function continued(answer: SeriesAnswer, before: SeriesAnswer | undefined): SeriesAnswer {
  const known = new Map(before?.series.map((one) => [of(one), one]));
  const series = answer.series.map((one) => {
    const [kept, had] = [one.kept_before ?? 0, known.get(of(one))];
    if (!had || kept === 0) return one;
    if (kept === had.x.length && one.x.length === 0) return had.of === one.of ? had : { ...had, of: one.of };
    return {
      ...one,
      x: [...had.x.slice(0, kept), ...one.x],
      y: [...had.y.slice(0, kept), ...one.y],
      kept_before: 0,
    };
  });
  return { ...answer, series };
}

/** Series of a query; of those that an answer before has, only what is new is fetched, and what did not change is the very same. */
export async function fetchSeries(
  query: SeriesQuery,
  before: SeriesAnswer | undefined,
  signal: AbortSignal,
): Promise<SeriesAnswer> {
  const body = { ...query, marks: marksOf(query, before) };
  const { data } = await querySeries({ body, signal, throwOnError: true });
  return continued(data, before);
}
