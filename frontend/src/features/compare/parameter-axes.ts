import type { ParallelAxis } from "@/lib/charts/parallel-coordinates";
import { marksOf, spaceScale } from "@/lib/charts/space-scale";
import { valueAxis } from "@/lib/charts/value-axis";
import type { ComparedRow, ComparedRows, Setting, Space } from "@/lib/client/types.gen";
import { settingName, settingValue } from "@/lib/format/settings";
import { axisTitle, figure } from "./figures";

type Value = Setting["values"][number];

export interface ParameterLine {
  readonly row: ComparedRow;
  /** A place on each axis. */
  readonly places: readonly (number | null)[];
  /** The value of each parameter, in words. */
  readonly values: readonly string[];
}

export interface ParameterAxes {
  readonly axes: readonly ParallelAxis[];
  /** Rows with a time to the target, and where each stands on every axis. */
  readonly lines: readonly ParameterLine[];
}

/** What people set and tune; constants of a network have the name of their cluster. */
const PARAMETERS = /^\/(algorithm|communication|batch|budget|workload)/;
/** Alone it is no parameter to draw times over: the table has them. */
const ALGORITHM = "/algorithm/name";
const MOST_AXES = 8;
const LEAST_ROWS = 3;
const LOG = 20;

/** The parameters that all rows have and some differ in, and the time to the target; undefined where that is no picture. */
export function parameterAxes(
  compared: ComparedRows,
  group: readonly ComparedRow[],
): ParameterAxes | undefined {
  const time = figure("time");
  const timed = group.flatMap((row) => {
    const found = time.of(row);
    return found ? [{ row, at: compared.rows.indexOf(row), found }] : [];
  });
  const parameters = compared.settings.flatMap(({ name, differs, values }) => {
    if (!differs || !PARAMETERS.test(name)) return [];
    const mine = timed.map(({ at }) => values[at] ?? null);
    const known = [...new Set(mine.filter((value) => value !== null))];
    if (known.length < 2 || mine.includes(null)) return []; // a row without it would have no line
    return [{ pointer: name, name: settingName(name), mine, ...spaceScale(spaceOf(known)) }];
  });
  const drawn = parameters.slice(0, MOST_AXES);
  if (timed.length < LEAST_ROWS || drawn.every(({ pointer }) => pointer === ALGORITHM)) return undefined;
  const result = valueAxis(timed.map(({ found }) => ({ value: found.value, low: null, high: null })));
  const marks = marksOf(result.ticks, result.place, time.tick);
  const title = axisTitle(time, group[0]?.simulated ?? false);
  return {
    axes: [...drawn.map(({ name, marks }) => ({ name, marks })), { name: title, marks }],
    lines: timed.map(({ row, found }, i) => ({
      row,
      places: [...drawn.map(({ place, mine }) => place(mine[i])), result.place(found.value)],
      values: drawn.map(({ mine }) => settingValue(mine[i])),
    })),
  };
}

function spaceOf(known: readonly Exclude<Value, null>[]): Space {
  const numbers = known.filter((value) => typeof value === "number");
  if (numbers.length < known.length) return { choices: [...known] };
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return { low, high, scale: low > 0 && high / low >= LOG ? "log" : "linear" };
}
