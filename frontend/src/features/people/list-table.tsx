import type { ReactNode } from "react";
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
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={`${ui.tableWrap} ${styles.table}`} aria-label={label} tabIndex={0}>
      <table className={ui.table} data-testid={testId}>
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
    </section>
  );
}
