import type { ExperimentSearch } from "./search";
import { MOST_RUNS } from "./use-seeds";

interface Drawn {
  readonly show: ExperimentSearch["seeds"];
  /** More runs are drawn than have seeds of their own. */
  readonly many: boolean;
  /** Some chart has the line of a target. */
  readonly target: boolean;
  /** Runs are told where they met it. */
  readonly crossings: boolean;
}

const HANDS =
  "Drag to zoom, Shift and drag to move, double-click to show all; with the focus on a chart, the arrow keys move between its points, and + and − zoom.";

/** Why the ways of drawing seeds do nothing. */
export const MANY = `Seeds are drawn one by one, and their median, for up to ${MOST_RUNS} runs`;

/** What the curves below the charts are, as they are drawn now. */
export function curveWords({ show, many, target, crossings }: Drawn): string {
  const seeds = many ? undefined : show;
  const lines = {
    each: "Each thin line is a seed.",
    median:
      "Lines are medians over seeds, bands the range over seeds. A median ends where its first seed ends;",
    mean: "Lines are means over seeds, bands their 95% t intervals (three seeds or more). A mean ends where its first seed ends;",
  }[seeds ?? "mean"];
  const tails =
    seeds === "each"
      ? ""
      : many
        ? ` what other seeds did later is not drawn. ${MANY}.`
        : " from there on, every other seed has a pale line of its own.";
  const ticks = many ? "" : "Ticks at the bottom are evaluations.";
  const dots = target && crossings ? "A dot on the target line is a run that met the target." : "";
  return [`${lines}${tails}`, ticks, dots, HANDS].filter(Boolean).join(" ");
}
