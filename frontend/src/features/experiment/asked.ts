/** What the page of an experiment asks for, whatever else it shows. */
import type { Axis } from "@/lib/api/types";
import { readBandsOptions } from "@/lib/client/@tanstack/react-query.gen";

/** Every series of evaluations there can be: see `metricsOf` of a run. */
export const METRICS = ["validation_accuracy", "validation_loss", "test_accuracy", "test_loss"] as const;
export const POINTS = 400;

/** Bands of some metrics over an axis. */
export const bandsOptions = (id: string, axis: Axis, metrics: readonly string[]) =>
  readBandsOptions({ path: { experiment_id: id }, query: { metric: [...metrics], axis, points: POINTS } });
