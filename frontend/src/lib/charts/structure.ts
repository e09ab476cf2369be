import { split } from "./crowd";
import type { ChartAxes } from "./options";
import type { ChartSeries } from "./series";

/** What a chart is built for, in one text: with another one it is built anew, with the same one its data change. */
export function structureOf(
  series: readonly ChartSeries[],
  { xTitle, target, close, log, logX, marksX, sync }: ChartAxes,
  dark: boolean,
  height: number,
): string {
  const lines = split(series).own.map(({ label, style, low, faint, thin }) => [
    label,
    style.light,
    style.dash,
    low !== undefined,
    faint,
    thin,
  ]);
  return JSON.stringify([lines, xTitle, target, close, log, logX, marksX, sync, dark, height]);
}
