import { useEffect, useEffectEvent, useLayoutEffect, useRef } from "react";
import type { ChartCursor } from "@/lib/charts/chart-cursor";
import { paced } from "@/lib/charts/paced";
import { NONE } from "@/lib/format/numbers";
import { Toolbar } from "@/lib/ui/toolbar";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./legend-table.module.css";
import { endsBefore, type LegendLine, rangeText, readAt } from "./legend-values";

/** One variant: its place in the experiment, and its line where it has one in this chart. */
export interface LegendRow {
  readonly name: string;
  /** Place in the palette. */
  readonly color: number;
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

/**
 * The variants of a chart with their values at the pointer, or their last ones. These are written straight into the
 * cells, a few times a second: a pointer that moves renders nothing.
 */
export function LegendTable(props: LegendTableProps) {
  const { title, rows, cursor, middle, toggle } = props;
  const table = useRef<HTMLTableElement>(null);
  const write = useEffectEvent(() => {
    const at = cursor.at();
    const texts = [headOf(props, at), ...rows.flatMap((row) => cellsOf(props, row, at))];
    for (const [i, cell] of [...(table.current?.querySelectorAll("[data-value]") ?? [])].entries()) {
      const text = texts[i] ?? "";
      if (!cell.firstChild) cell.textContent = text;
      else if (cell.firstChild.nodeValue !== text) cell.firstChild.nodeValue = text; // another node would be laid out anew
    }
  });
  useLayoutEffect(() => write()); // whatever is rendered anew
  useEffect(() => {
    const soon = paced(() => write());
    const forget = cursor.subscribe(soon);
    return () => {
      forget();
      soon.cancel();
    };
  }, [cursor]);
  const mean = middle === "mean";
  return (
    <Toolbar label={`Variants of ${title}`} className={styles.legend}>
      <table ref={table} className={styles.table} data-testid="legend">
        <caption className={ui.unseen}>{title}: press a variant to hide or show it in every chart.</caption>
        <thead>
          <tr>
            <th scope="col" data-value />
            <th scope="col">{mean ? "Mean" : "Median"}</th>
            <th scope="col">{mean ? "95% interval" : "Min to max"}</th>
            <th scope="col">Seeds</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, color, hidden }, index) => (
            <tr key={name} data-testid="legend-row">
              <th scope="row">
                <button
                  type="button"
                  className={styles.item}
                  aria-pressed={!hidden}
                  data-testid="legend-item"
                  onClick={() => toggle(index)}
                >
                  <VariantChip name={name} index={color} />
                </button>
              </th>
              <td data-value />
              <td data-value />
              <td data-value />
            </tr>
          ))}
        </tbody>
      </table>
    </Toolbar>
  );
}

const headOf = ({ formatX }: LegendTableProps, at: number | undefined) =>
  at === undefined ? "Last values" : `At ${formatX(at)}`;

/** Value, interval and seeds of a row, at the pointer or at its end. */
function cellsOf(
  { format, unit }: LegendTableProps,
  { hidden, line }: LegendRow,
  at: number | undefined,
): [string, string, string] {
  const found = line && !hidden ? readAt(line, at) : undefined;
  if (found) return [format(found.value), rangeText(found, format, unit), `${found.seeds}`];
  return [NONE, line !== undefined && !hidden && endsBefore(line, at) ? "ended" : "", ""];
}
