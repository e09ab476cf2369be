import { NativeSelect } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { rankColor } from "@/lib/charts/rank-color";
import { ScatterChart, type ScatterPoint } from "@/lib/charts/scatter-chart";
import { type SpaceScale, spaceScale } from "@/lib/charts/space-scale";
import type { TrialView } from "@/lib/client/types.gen";
import { formatNumber, formatPercentTick } from "@/lib/format/numbers";
import { SCALES } from "@/lib/spaces/words";
import { variantStyle } from "@/lib/theme/palette";
import { type Measure, measureTitle, outcomeOf, trialWords } from "./trials";
import type { PlotProps } from "./trials-plot";
import { trialsSheet } from "./trials-sheet";

const route = getRouteApi("/experiments/$experimentId");

/** What the trials have shown over one parameter, which the address names for all searches that have it. */
export function Response({ search, index, measure, marked, mark }: PlotProps) {
  const by = route.useSearch({ select: (search) => search.by });
  const navigate = route.useNavigate();
  const names = Object.keys(search.spaces);
  const name = by !== undefined && names.includes(by) ? by : (names[0] ?? "");
  const space = search.spaces[name];
  if (!space) return null;
  const scale = spaceScale(space);
  const ranked = search.trials.filter((trial) => trial.rank !== null).length;
  const points = search.trials.flatMap((trial) => {
    const color = rankColor(variantStyle(index).color, trial.rank, ranked);
    return pointOf(trial, trial.parameters[name], scale, measure, color);
  });
  const title = measureTitle(measure, search.simulated);
  const word = space.choices ? undefined : SCALES.find(({ value }) => value === space.scale)?.label;
  return (
    <ScatterChart
      testId="response"
      title={
        <>
          {title.split(" (")[0]} against
          <NativeSelect
            size="xs"
            aria-label="Parameter of the response"
            data={names}
            value={name}
            onChange={(event) => {
              const next = event.currentTarget.value;
              navigate({ search: (old) => ({ ...old, by: next }), replace: true, resetScroll: false });
            }}
          />
        </>
      }
      label={words(title, name, search.trials, measure)}
      points={[...points].sort((a, b) => order(a) - order(b))}
      xTitle={word && word !== "linear" ? `${name} (${word} scale)` : name}
      xMarks={scale.marks}
      yTitle={measure === "accuracy" ? "" : search.simulated ? "virtual s" : "s"}
      tickY={measure === "seconds" ? (value) => formatNumber(value) : formatPercentTick}
      empty="No trial has ended yet"
      stripTitle={measure === "seconds" ? "missed" : "failed"}
      marked={marked}
      mark={mark}
      sheet={() => trialsSheet(search, measure)}
    />
  );
}

/** The chosen point lies on top. */
function order(point: ScatterPoint): number {
  return point.look === "chosen" ? 1 : 0;
}

/** Nothing for a trial that has not ended, or without this parameter. */
function pointOf(
  trial: TrialView,
  value: unknown,
  scale: SpaceScale,
  measure: Measure,
  color: string,
): ScatterPoint[] {
  const x = scale.place(value);
  const outcome = outcomeOf(trial, measure);
  if (x === null || outcome === "open") return [];
  const look = trial.chosen ? "chosen" : outcome === "met" ? "usual" : outcome;
  return [{ key: trial.trial, x, y: trial[measure], color, look, words: trialWords(trial, measure) }];
}

function words(title: string, name: string, trials: readonly TrialView[], measure: Measure): string {
  const count = (wanted: string) => trials.filter((trial) => outcomeOf(trial, measure) === wanted).length;
  const chosen = trials.find((trial) => trial.chosen);
  return [
    `${title} against ${name}: ${count("met")} trials`,
    count("missed") > 0 ? `${count("missed")} missed the target` : "",
    count("failed") > 0 ? `${count("failed")} failed` : "",
    chosen ? `chosen: ${trialWords(chosen, measure)}` : "",
  ]
    .filter(Boolean)
    .join("; ");
}
