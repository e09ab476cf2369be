import type { Axis, ChartAxis } from "@/lib/api/types";
import type { Band } from "@/lib/client/types.gen";

type Items = number | null | undefined;

/** What the server is asked for: epochs are its samples over the number of training items. */
export const askedAxis = (axis: ChartAxis): Axis => (axis === "epochs" ? "samples" : axis);

/** What an answer is drawn over: its samples as epochs if these are wanted and the number of training items is known. */
export const drawnAxis = (axis: ChartAxis, answered: Axis, items: Items): ChartAxis =>
  axis === "epochs" && answered === "samples" && items ? "epochs" : answered;

const columns = new WeakMap<readonly number[], { items: number; x: number[] }>();

/** Samples as epochs; the same column always gives the same one, so that a chart sees what did not change. */
export function inEpochs(samples: readonly number[], items: number): number[] {
  const before = columns.get(samples);
  if (before?.items === items) return before.x;
  const x = samples.map((count) => count / items);
  columns.set(samples, { items, x });
  return x;
}

const known = new WeakMap<Band["mean"], { x: number[]; mean: Band["mean"] }>();

/** A band over epochs. Its mean is another array, because what is derived from a mean also depends on its x. */
export function bandInEpochs(band: Band, items: number): Band {
  const x = inEpochs(band.x, items);
  const before = known.get(band.mean);
  const mean = before?.x === x ? before.mean : [...band.mean];
  known.set(band.mean, { x, mean });
  return { ...band, x, mean };
}
