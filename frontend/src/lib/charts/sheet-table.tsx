import { Modal } from "@mantine/core";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";

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

/** What a drawing shows, as a table in a window. */
export function SheetTable({ of, sheet: { head, rows }, onClose }: SheetTableProps) {
  return (
    <Modal opened onClose={onClose} title={of} size="xl">
      <TableRegion label={`${of}, as a table`}>
        <table className={`${ui.table} ${ui.sticky}`} data-testid="sheet-table">
          <thead>
            <tr>
              {head.map((title) => (
                <th key={title} scope="col">
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
                  <td key={head[column + 1]}>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </TableRegion>
    </Modal>
  );
}
