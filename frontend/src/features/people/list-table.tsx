import type { ReactNode } from "react";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import styles from "./people.module.css";

interface ListTableProps {
  label: string;
  /** Of its columns; one more is of buttons. */
  titles: readonly string[];
  testId: string;
  /** The rows. */
  children: ReactNode;
}

/** A table of the administration, which scrolls in its place where it is wider. */
export function ListTable({ label, titles, testId, children }: ListTableProps) {
  return (
    <div className={styles.table}>
      <TableRegion label={label}>
        <table className={`${ui.table} ${ui.sticky} ${styles.list}`} data-testid={testId}>
          <thead>
            <tr>
              {titles.map((title) => (
                <th key={title}>{title}</th>
              ))}
              <th className={styles.unnamed}>
                <span className={ui.unseen}>Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </TableRegion>
    </div>
  );
}
