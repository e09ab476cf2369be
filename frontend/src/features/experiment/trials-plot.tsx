import { ParallelCoordinates, type ParallelLine } from "@/lib/charts/parallel-coordinates";
import { rankColor } from "@/lib/charts/rank-color";
import { linearTicks, marksOf, spaceScale } from "@/lib/charts/space-scale";
import type { SearchView } from "@/lib/client/types.gen";
import { formatPercentTick } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { variantStyle } from "@/lib/theme/palette";
import { byRank, type Measure, outcomeOf, trialWords } from "./trials";
import { trialsSheet } from "./trials-sheet";

export interface PlotProps {
  search: SearchView;
  /** Position of the variant in its experiment. */
  index: number;
  measure: Measure;
  /** The trial that the pointer is at. */
  marked: number | undefined;
  mark: (trial: number | undefined) => void;
}

/** Highest share of the last axis that a figure takes; above it stand the trials that missed the target. */
const FIGURES = 0.86;

/** All trials over all searched parameters, coloured by rank. */
export function TrialsPlot({ search, index, measure, marked, mark }: PlotProps) {
  const scales = Object.entries(search.spaces).map(([name, space]) => ({ name, ...spaceScale(space) }));
  const result = resultAxis(search, measure);
  const ranked = search.trials.filter((trial) => trial.rank !== null).length;
  const lines = byRank(search.trials)
    .reverse()
    .flatMap((trial): ParallelLine[] => {
      const outcome = outcomeOf(trial, measure);
      if (outcome === "open") return [];
      return [
        {
          key: trial.trial,
          places: [
            ...scales.map(({ name, place }) => place(trial.parameters[name])),
            result.place(trial[measure]),
          ],
          color: rankColor(variantStyle(index).color, trial.rank, ranked),
          look: trial.chosen ? "chosen" : outcome === "met" ? "usual" : outcome,
          words: trialWords(trial, measure),
        },
      ];
    });
  const axes = [...scales.map(({ name, marks }) => ({ name, marks })), result];
  return (
    <ParallelCoordinates
      testId="parallel"
      title="All trials, colored by rank"
      name="Trials over all parameters"
      label={`${lines.length} trials over ${axes.map(({ name }) => name).join(", ")}; the table below has the same.`}
      axes={axes}
      lines={lines}
      marked={marked}
      mark={mark}
      sheet={() => trialsSheet(search, measure)}
    />
  );
}

/** The last axis: what trials have shown, and at its top those without a figure. */
function resultAxis(search: SearchView, measure: Measure) {
  const values = search.trials.flatMap((trial) => trial[measure] ?? []);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const reach = high - low || 1;
  const without = search.trials.some((trial) => ["missed", "failed"].includes(outcomeOf(trial, measure)));
  const share = (value: number) => ((without ? FIGURES : 1) * (value - low)) / reach;
  const ticks = values.length > 1 ? linearTicks(low, high) : values;
  const tick = measure === "seconds" ? formatSeconds : formatPercentTick;
  const marks = marksOf(ticks, share, tick);
  if (without) marks.push({ at: 1, label: measure === "seconds" ? "missed" : "failed" });
  return {
    name: measure === "accuracy" ? "accuracy" : search.simulated ? "virtual time" : "time",
    marks,
    place: (value: number | null) => (value === null ? 1 : share(value)),
  };
}
