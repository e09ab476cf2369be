import { chartsIn } from "@/lib/charts/added-charts";
import { OF_STEPS } from "@/lib/charts/chart-look";
import type { ExperimentSearch } from "./search";

/** Whether a chart grows with every step, and not with evaluations alone. */
export function followsSteps({ axis, more }: ExperimentSearch): boolean {
  return chartsIn(more).some((chart) => OF_STEPS.includes(chart.metric) || (chart.axis ?? axis) === "bytes");
}
