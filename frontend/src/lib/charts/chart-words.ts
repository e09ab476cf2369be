import { split } from "./crowd";
import type { ChartAxes } from "./options";
import type uPlot from "./plot-type";
import type { ChartSeries } from "./series";
import type { Zoom } from "./zoom";

type Horizontal = Pick<ChartAxes, "xTitle" | "formatX">;

/** An axis without its unit, which its values have. */
const nameOf = ({ xTitle }: Horizontal) => xTitle.split(" (")[0];

/** What is in view, for those who hear it: "Steps from 100 to 400 of 1,000". */
export function zoomWords(axis: Horizontal, x: ArrayLike<number>, zoom: Zoom | undefined): string {
  const [first, last] = [x[0], x[x.length - 1]];
  if (first === undefined || last === undefined) return "";
  const [from, to] = zoom ?? [first, last];
  const rest = zoom ? `of ${axis.formatX(last)}` : "(all)";
  return `${nameOf(axis)} from ${axis.formatX(from)} to ${axis.formatX(to)} ${rest}`;
}

interface Drawn extends Horizontal, Pick<ChartAxes, "formatY"> {
  readonly series: readonly ChartSeries[];
}

/** The curves where the cursor stands: "Train clock 50 s: A 60%, B 55%". */
export function cursorWords({ data, cursor }: Pick<uPlot, "data" | "cursor">, drawn: Drawn): string {
  const at = data[0][cursor.idx ?? -1];
  if (at === undefined) return "";
  const told = new Map<string, string>();
  let column = 1;
  for (const { label, low, high } of split(drawn.series).own) {
    const value = data[column]?.[cursor.idxs?.[column] ?? -1];
    if (typeof value === "number" && !told.has(label)) told.set(label, `${label} ${drawn.formatY(value)}`);
    column += low && high ? 3 : 1; // the edges of a band follow its curve
  }
  return `${nameOf(drawn)} ${drawn.formatX(at)}: ${[...told.values()].join(", ") || "no values"}`;
}
