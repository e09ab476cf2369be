import type { ChartSeries } from "@/lib/charts/series";
import { csvOf } from "./sheet";

const text = (value: number | null | undefined) =>
  value === null || value === undefined || Number.isNaN(value) ? "" : String(value);

/** The points of curves, one a line, in full precision; the interval where there is one. */
export function curvesCsv(series: readonly ChartSeries[], xTitle: string, yTitle: string): string {
  const rows = series.flatMap(({ label, x, y, exact, bends, low, high }) =>
    Array.from(y).flatMap((value, i) =>
      value === null || value === undefined || bends?.[i]
        ? []
        : [[label, text(x[i]), text(exact?.[i] ?? value), text(low?.[i]), text(high?.[i])]],
    ),
  );
  return csvOf({ head: ["curve", xTitle, yTitle, "low", "high"], rows });
}
