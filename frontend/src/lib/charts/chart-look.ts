import type { Metric } from "@/lib/api/types";
import type { FurtherMetricView } from "@/lib/client/types.gen";
import { formatBytes, formatNumber, formatPercentTick } from "@/lib/format/numbers";
import { lookOf, type MetricLook } from "@/lib/format/quantities";

const BYTES = "bytes_sent";

/** Metrics of steps, which have a point for every few of them; the others have one for each evaluation. */
export const OF_STEPS: readonly Metric[] = [
  "train_loss",
  "communication_fraction",
  "throughput",
  "staleness",
  BYTES,
];

/** How a chart and the table of its values show a metric. */
export interface ChartLook extends MetricLook {
  readonly tick: (value: number) => string;
  /** What ends a formatted value where it is always the same, such as " samples/s". */
  readonly unit: string;
}

/** The look of a metric, which for those of steps knows the better end, too. */
export function chartLook(metric: Metric, declared?: FurtherMetricView): ChartLook {
  if (metric === BYTES) {
    const title = "Bytes sent, all ranks";
    return { title, share: false, better: "lower", format: formatBytes, tick: formatBytes, unit: "" };
  }
  const look = lookOf(metric, declared);
  const rate = metric === "throughput";
  const higher = rate ? "higher" : "lower";
  const unit = declared?.unit && !look.share ? ` ${declared.unit}` : "";
  return {
    ...look,
    better: OF_STEPS.includes(metric) ? higher : look.better,
    tick: look.share ? formatPercentTick : (value) => formatNumber(value),
    unit: rate ? " samples/s" : unit,
  };
}
