import { useSyncExternalStore } from "react";
import type { ChartCursor } from "@/lib/charts/chart-cursor";
import { NONE } from "@/lib/format/numbers";
import { Toolbar } from "@/lib/ui/toolbar";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./legend-table.module.css";
import { endsBefore, type LegendLine, rangeText, readAt } from "./legend-values";

/** One variant: its place in the experiment, and its line where it has one in this chart. */
export interface LegendRow {
  readonly name: string;
  readonly hidden: boolean;
  readonly line: LegendLine | undefined;
}

interface LegendTableProps {
  /** Of the chart. */
  title: string;
  /** In the order of the specification. */
  rows: readonly LegendRow[];
  cursor: ChartCursor;
  formatX: (value: number) => string;
  format: (value: number) => string;
  unit: string;
  middle: "mean" | "median";
  /** Shows or hides a variant in every chart. */
  toggle: (index: number) => void;
}

/** The variants of a chart with their values at the pointer, or their last ones. */
export function LegendTable(props: LegendTableProps) {
  const { title, rows, cursor, formatX, format, unit, middle, toggle } = props;
  const at = useSyncExternalStore(cursor.subscribe, cursor.at);
  const mean = middle === "mean";
  return (
    <Toolbar label={`Variants of ${title}`} className={styles.legend}>
      <table className={styles.table} data-testid="legend">
        <caption className={ui.unseen}>{title}: press a variant to hide or show it in every chart.</caption>
        <thead>
          <tr>
            <th scope="col">{at === undefined ? "Last values" : `At ${formatX(at)}`}</th>
            <th scope="col">{mean ? "Mean" : "Median"}</th>
            <th scope="col">{mean ? "95% interval" : "Min to max"}</th>
            <th scope="col">Seeds</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, hidden, line }, index) => {
            const found = line && !hidden ? readAt(line, at) : undefined;
            const over = line !== undefined && !hidden && endsBefore(line, at);
            return (
              <tr key={name} data-testid="legend-row">
                <th scope="row">
                  <button
                    type="button"
                    className={styles.item}
                    aria-pressed={!hidden}
                    data-testid="legend-item"
                    onClick={() => toggle(index)}
                  >
                    <VariantChip name={name} index={index} />
                  </button>
                </th>
                <td>{found ? format(found.value) : NONE}</td>
                <td>{found ? rangeText(found, format, unit) : over ? "ended" : ""}</td>
                <td>{found ? found.seeds : ""}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Toolbar>
  );
}
