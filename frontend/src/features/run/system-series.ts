import type { ChartSeries } from "@/lib/charts/series";
import type { HostSamples, ProcessSamples, SystemView } from "@/lib/client/types.gen";
import { partStyle } from "@/lib/theme/palette";

/** Ranks that have a curve of their own; of more, the least, the mean and the greatest are drawn. */
export const MOST_CURVES = 8;

type Figure = "cpu" | "memory";

/** Curves of one figure of the processes, in the colour of the variant at `index`, each with its pattern. */
export function processSeries(view: SystemView, figure: Figure, index: number): ChartSeries[] {
  const { processes, at } = view;
  const some = processes.filter((process) => process[figure].some((value) => value !== null));
  if (some.length <= MOST_CURVES)
    return some.map((process, part) => ({
      label: view.simulated ? "process" : `rank ${process.rank}`,
      style: partStyle(index, part),
      x: at,
      y: process[figure],
    }));
  const columns = at.map((_, i) => known(some, figure, i));
  const over = (take: (values: readonly number[]) => number) =>
    columns.map((values) => (values.length > 0 ? take(values) : null));
  return [
    { label: `mean of ${some.length} ranks`, style: partStyle(index, 0), x: at, y: over(mean) },
    {
      label: "greatest",
      style: partStyle(index, 1),
      x: at,
      y: over((values) => Math.max(...values)),
      thin: true,
    },
    {
      label: "least",
      style: partStyle(index, 2),
      x: at,
      y: over((values) => Math.min(...values)),
      thin: true,
    },
  ];
}

function known(processes: readonly ProcessSamples[], figure: Figure, i: number): number[] {
  return processes.flatMap((process) => process[figure][i] ?? []);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Curves of the host; those without a figure are left out. */
export function hostSeries(
  view: SystemView,
  figures: readonly { readonly name: Exclude<keyof HostSamples, "host">; readonly label: string }[],
  index: number,
): ChartSeries[] {
  const { host, at } = view;
  if (!host) return [];
  return figures.flatMap(({ name, label }, i) =>
    host[name].some((value) => value !== null)
      ? [{ label, style: partStyle(index, i), x: at, y: host[name] }]
      : [],
  );
}
