import type { ChartAxis, CommonMetric, Metric } from "@/lib/api/types";
import type { FurtherMetricView } from "@/lib/client/types.gen";
import { formatCount, formatNumber, formatPercent } from "./numbers";

/** In the order in which they are offered. Their words are apart: addresses are read before any chart is loaded. */
export const AXES: readonly ChartAxis[] = ["clock", "wall", "samples", "epochs", "step", "bytes"];

export const METRIC_LABELS: Record<CommonMetric, string> = {
  validation_accuracy: "Validation accuracy",
  validation_loss: "Validation loss",
  test_accuracy: "Test accuracy, no validation part",
  test_loss: "Test loss, no validation part",
  train_loss: "Training loss",
  communication_fraction: "Communication fraction",
  throughput: "Throughput",
  staleness: "Staleness",
};

/** What is shown as a percentage. */
export function isShare(metric: CommonMetric): boolean {
  return metric.endsWith("_accuracy") || metric === "communication_fraction";
}

/** What the latest evaluation of a run is called: those of before there was a validation part scored the test part. */
export function accuracyLabel(part: "validation" | "test" | null): string {
  return METRIC_LABELS[part === "test" ? "test_accuracy" : "validation_accuracy"];
}

export function formatMetric(metric: CommonMetric, value: number | null | undefined): string {
  if (isShare(metric)) return formatPercent(value, 2);
  if (metric === "throughput") return `${formatCount(value)} samples/s`;
  return formatNumber(value, 4);
}

/** How a chart of a metric looks. */
export interface MetricLook {
  readonly title: string;
  /** Shown in percent, from 0 to 1. */
  readonly share: boolean;
  readonly better: "higher" | "lower" | null;
  readonly format: (value: number | null | undefined) => string;
}

const isCommon = (metric: Metric): metric is CommonMetric => Object.hasOwn(METRIC_LABELS, metric);

/** The look of a metric of all runs, or of a further one as its workload declares it. */
export function lookOf(metric: Metric, declared?: FurtherMetricView): MetricLook {
  if (isCommon(metric)) {
    const share = isShare(metric);
    const format = (value: number | null | undefined) => formatMetric(metric, value);
    return { title: METRIC_LABELS[metric], share, better: share ? "higher" : "lower", format };
  }
  const share = declared?.unit === "share";
  const unit = declared?.unit && !share ? ` ${declared.unit}` : "";
  return {
    title: declared?.title ?? metric,
    share,
    better: declared?.better ?? null,
    format: (value) => (share ? formatPercent(value, 2) : `${formatNumber(value, 4)}${unit}`),
  };
}
