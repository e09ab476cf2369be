/** Names for parts of the generated client's types that it spells out in place. */
import type { Band, BandAnswer, ExperimentView, ProblemDetails } from "@/lib/client/types.gen";

export type Metric = Band["metric"];
export type Axis = BandAnswer["axis"];
export type ExperimentSpec = ExperimentView["spec"];
export type Problem = ProblemDetails;
