import { memo } from "react";
import type { RunSummary } from "@/lib/client/types.gen";
import ui from "@/lib/ui/ui.module.css";
import { CELLS } from "./run-cell";
import type { RunColumn } from "./runs-order";

interface RunRowProps {
  run: RunSummary;
  /** Place of its variant, which gives the colour. */
  variant: number;
  hasTarget: boolean;
  columns: readonly RunColumn[];
  selected: boolean;
  select: (id: string, on: boolean) => void;
  /** Where rows are left out: which one this is, and what measures it. */
  index?: number;
  measure?: (row: Element | null) => void;
  /** Has the width of its cells and no height. */
  unseen?: boolean;
}

/** One run of the table. */
export const RunRow = memo(function RunRow(props: RunRowProps) {
  const { run, columns, index, unseen } = props;
  return (
    <tr
      ref={props.measure}
      data-index={index}
      aria-rowindex={index === undefined ? undefined : index + 2} // the head is the first
      aria-hidden={unseen}
      style={unseen ? { visibility: "collapse" } : undefined}
      data-testid={unseen ? undefined : "run-row"}
      data-state={run.state}
    >
      {columns.map(({ key, number }) => (
        <td key={key} className={number ? ui.number : undefined}>
          {CELLS[key](props)}
        </td>
      ))}
    </tr>
  );
});
