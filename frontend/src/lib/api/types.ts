/** Names for parts of the generated client's types that it spells out in place. */
import type { Band, BandAnswer, ExperimentView, ProblemDetails } from "@/lib/client/types.gen";

/** Name of a metric: one of all runs, or a further one of their workload. */
export type Metric = Band["metric"];
/** The metrics of all runs. */
export type CommonMetric =
  | "validation_accuracy"
  | "validation_loss"
  | "test_accuracy"
  | "test_loss"
  | "train_loss"
  | "communication_fraction"
  | "throughput"
  | "staleness";
export type Axis = BandAnswer["axis"];
/** What charts run over: epochs are samples over the number of training items. */
export type ChartAxis = Axis | "epochs";
export type ExperimentSpec = ExperimentView["spec"];
export type Problem = ProblemDetails;
