import type { Sheet } from "@/lib/charts/sheet-table";
import type { SearchView } from "@/lib/client/types.gen";
import { NONE } from "@/lib/format/numbers";
import { formatValue } from "@/lib/spaces/words";
import { byRank, formatFigure, type Measure, measureTitle, outcomeOf } from "./trials";

/** Every trial of a search with its parameters and what it has shown, the best first: what both charts draw. */
export function trialsSheet(search: SearchView, measure: Measure): Sheet {
  const names = Object.keys(search.spaces);
  return {
    head: ["Trial", "Rank", ...names, measureTitle(measure, search.simulated), "Outcome"],
    rows: byRank(search.trials).map((trial) => [
      `trial ${trial.trial}`,
      trial.rank === null ? NONE : String(trial.rank),
      ...names.map((name) => (name in trial.parameters ? formatValue(trial.parameters[name]) : NONE)),
      formatFigure(trial[measure], measure),
      trial.chosen ? "chosen" : outcomeOf(trial, measure),
    ]),
  };
}
