import type { ExperimentView } from "@/lib/client/types.gen";
import { isTerminal } from "@/lib/ui/states";

/** Between two looks while runs go on, ms: of short runs a look is cheap, and a few seconds are much of them. */
const GOING_MS = 6000;
const SHORT_MS = 1500;
/** Span of a short run, s. */
const SHORT_S = 60;
/** For which the last steps may still arrive after the end, ms. */
const AFTER_MS = 15_000;

/** When phases over time are to be read again, ms; false: never. `span`: of what was read last, s. */
export function nextLook(
  { state, finished_at }: Pick<ExperimentView, "state" | "finished_at">,
  span: number,
  now: number,
): number | false {
  if (!isTerminal(state)) return span < SHORT_S ? SHORT_MS : GOING_MS;
  return finished_at !== null && now - Date.parse(finished_at) < AFTER_MS ? SHORT_MS : false;
}
