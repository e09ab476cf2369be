import { useState } from "react";
import { ParallelCoordinates } from "@/lib/charts/parallel-coordinates";
import type { ComparedRows } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";
import { Section } from "@/lib/ui/section";
import styles from "./compare.module.css";
import { figure } from "./figures";
import { colorsOf, groupsOf, namesOf, taskOf } from "./names";
import { type ParameterAxes, parameterAxes } from "./parameter-axes";

/** Every row as a line over the parameters that differ, and over its time to the target. */
export function ParametersPart({ compared }: { compared: ComparedRows }) {
  const drawn = groupsOf(compared.rows).flatMap(([key, rows]) => {
    const found = parameterAxes(compared, rows);
    return found ? [{ key, task: taskOf(compared, rows), found }] : [];
  });
  if (drawn.length === 0) return null;
  return (
    <Section title="Parameters and time to target" testId="parameters">
      {drawn.map(({ key, task, found }) => (
        <div key={key} className={styles.kind}>
          <Lines compared={compared} task={task} found={found} />
        </div>
      ))}
    </Section>
  );
}

function Lines({ compared, task, found }: { compared: ComparedRows; task: string; found: ParameterAxes }) {
  const [marked, mark] = useState<number>();
  const color = colorsOf(compared.experiments);
  const names = namesOf(found.lines.map(({ row }) => row));
  const time = figure("time");
  return (
    <ParallelCoordinates
      testId="parameter-lines"
      title={task}
      name={`Parameters of ${task}`}
      label={`${task}: ${found.lines.length} rows over ${found.axes.map(({ name }) => name).join(", ")}; the tables of figures and settings have the same.`}
      axes={found.axes}
      lines={found.lines.map(({ row, places }, at) => ({
        key: at,
        places,
        color: variantStyle(color(row.variant)).color,
        look: "usual",
        words: `${names[at]}: ${time.format(time.of(row)?.value ?? null)}`,
      }))}
      marked={marked}
      mark={mark}
      sheet={() => ({
        head: ["Row", ...found.axes.map(({ name }) => name)],
        rows: found.lines.map(({ row, values }, at) => [
          names[at] ?? row.variant,
          ...values,
          time.format(time.of(row)?.value ?? null),
        ]),
      })}
    />
  );
}
