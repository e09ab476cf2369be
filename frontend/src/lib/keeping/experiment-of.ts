import type { RunSummary } from "@/lib/client/types.gen";
import { isolatedParts } from "@/lib/format/right-to-left";

type Told = Pick<RunSummary, "experiment_number" | "experiment_name">;

/** What the experiment of a run is called: "#7 Digits, three ways". Undefined: the server does not tell it. */
export function experimentOf({ experiment_number: number, experiment_name: name }: Told): string | undefined {
  return name ? `#${number} ${isolatedParts(name)}` : undefined;
}
