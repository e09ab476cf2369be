import { Modal } from "@mantine/core";
import { NONE } from "@/lib/format/numbers";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import styles from "./sheet-table.module.css";

/** What a drawing shows, in words and figures; the first column names the row. */
export interface Sheet {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

interface SheetTableProps {
  of: string;
  sheet: Sheet;
  onClose: () => void;
}

const isFigure = (cell = "") => cell === "" || cell === NONE || /^[-\d]/.test(cell);

/** What a drawing shows, as a table in a window. Columns of figures are aligned right. */
export function SheetTable({ of, sheet: { head, rows }, onClose }: SheetTableProps) {
  const numeric = head.map((_, column) => column > 0 && rows.every((row) => isFigure(row[column])));
  const look = (column: number) => (numeric[column] ? ui.number : undefined);
  return (
    <Modal opened onClose={onClose} title={of} size="xl">
      <TableRegion label={`${of}, as a table`}>
        <table className={`${ui.table} ${ui.sticky} ${styles.sheet}`} data-testid="sheet-table">
          <thead>
            <tr>
              {head.map((title, column) => (
                <th
                  key={title}
                  scope="col"
                  data-number={numeric[column] || undefined}
                  className={look(column)}
                >
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, ...cells], row) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a row is known by its place, its name may repeat
              <tr key={row}>
                <th scope="row">{name}</th>
                {cells.map((cell, column) => (
                  <td key={head[column + 1]} className={look(column + 1)}>
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </TableRegion>
    </Modal>
  );
}
