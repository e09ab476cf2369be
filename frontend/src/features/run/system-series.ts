import type { ChartSeries } from "@/lib/charts/series";
import type { HostSamples, ProcessSamples, SystemView } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";

/** Ranks that have a curve of their own; of more, the least, the mean and the greatest are drawn. */
export const MOST_CURVES = 8;

type Figure = "cpu" | "memory";

/** Curves of one figure of the processes. */
export function processSeries(view: SystemView, figure: Figure): ChartSeries[] {
  const { processes, at } = view;
  const some = processes.filter((process) => process[figure].some((value) => value !== null));
  if (some.length <= MOST_CURVES)
    return some.map((process) => ({
      label: view.simulated ? "process" : `rank ${process.rank}`,
      style: variantStyle(process.rank),
      x: at,
      y: process[figure],
    }));
  const columns = at.map((_, i) => known(some, figure, i));
  const over = (take: (values: readonly number[]) => number) =>
    columns.map((values) => (values.length > 0 ? take(values) : null));
  return [
    { label: `mean of ${some.length} ranks`, style: variantStyle(0), x: at, y: over(mean) },
    {
      label: "greatest",
      style: variantStyle(1),
      x: at,
      y: over((values) => Math.max(...values)),
      thin: true,
    },
    { label: "least", style: variantStyle(2), x: at, y: over((values) => Math.min(...values)), thin: true },
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
): ChartSeries[] {
  const { host, at } = view;
  if (!host) return [];
  return figures.flatMap(({ name, label }, i) =>
    host[name].some((value) => value !== null)
      ? [{ label, style: variantStyle(i), x: at, y: host[name] }]
      : [],
  );
}
