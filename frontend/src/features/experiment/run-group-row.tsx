import type { ReactNode } from "react";
import { formatJoules } from "@/lib/format/energy";
import { formatPercent } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./experiment.module.css";
import { Meter } from "./run-cell";
import own from "./run-group-row.module.css";
import type { RunGroup } from "./runs-groups";
import type { RunColumn, RunKey } from "./runs-order";

interface RunGroupRowProps {
  group: RunGroup;
  open: boolean;
  turn: (key: string) => void;
  /** Place of its variant, which gives the colour. */
  variant: number;
  columns: readonly RunColumn[];
  index?: number;
  measure?: (row: Element | null) => void;
}

const MEAN = "Mean of the reported runs";

interface Cell {
  readonly content: ReactNode;
  readonly title?: string;
}

/** What the runs of a group have in a column together; nothing where that would say little. */
const CELLS: { readonly [key in RunKey]?: (props: RunGroupRowProps) => Cell } = {
  run: ({ group: { key, first, runs }, open, turn }) => {
    const count = `${runs.length} ${runs.length === 1 ? "run" : "runs"}`;
    const content = (
      <button
        type="button"
        className={own.turn}
        aria-expanded={open}
        aria-label={`${count} of ${first.variant} on ${first.cluster} with ${first.workers} workers`}
        onClick={() => turn(key)}
      >
        <span aria-hidden="true">{open ? "▾" : "▸"}</span> {count}
      </button>
    );
    return { content };
  },
  variant: ({ group, variant }) => ({
    content: <VariantChip name={group.first.variant} index={variant} />,
  }),
  method: ({ group }) => ({ content: group.first.algorithm }),
  cluster: ({ group: { first } }) => ({
    content: (
      <>
        {first.cluster} <span className={styles.quiet}>× {first.workers}</span>{" "}
        {first.simulated && <Tag kind="simulated" />}
      </>
    ),
  }),
  state: ({ group: { ended, runs, failed } }) => ({
    content: `${ended} of ${runs.length} ended${failed > 0 ? `, ${failed} failed` : ""}`,
  }),
  budget: ({ group: { share } }) => ({
    content: <Meter share={share} title={`${formatPercent(share)} of the budget on average`} />,
  }),
  accuracy: ({ group }) => ({ content: formatPercent(group.accuracy, 2), title: MEAN }),
  test: ({ group }) => ({ content: formatPercent(group.test, 2), title: MEAN }),
  time: ({ group: { first, time, reached, reported } }) => ({
    title: "Median of the reported runs; those that missed the target count as longer",
    content: (
      <>
        {formatSeconds(time)}
        {first.simulated && time !== null && <span className={styles.quiet}> virtual</span>}
        {reached > 0 && reached < reported && (
          <span className={styles.quiet}>
            {" "}
            ({reached} of {reported})
          </span>
        )}
      </>
    ),
  }),
  communication: ({ group }) => ({ content: formatPercent(group.communication), title: MEAN }),
  energy: ({ group }) => ({
    content: formatJoules(group.energy),
    title: "Mean of the reported runs that have ended",
  }),
};

/** What the runs of a variant at a place show together; pressed, it shows or hides them. */
export function RunGroupRow(props: RunGroupRowProps) {
  const { columns, index, measure } = props;
  return (
    <tr
      ref={measure}
      data-index={index}
      aria-rowindex={index === undefined ? undefined : index + 2} // the head is the first
      data-testid="run-group"
      className={own.group}
    >
      {columns.map(({ key, number }) => {
        const cell = CELLS[key]?.(props);
        return (
          <td key={key} className={number ? ui.number : undefined} title={cell?.title}>
            {cell?.content}
          </td>
        );
      })}
    </tr>
  );
}
