import { UnstyledButton } from "@mantine/core";
import type { ReactNode } from "react";
import styles from "./sort-head.module.css";
import ui from "./ui.module.css";

export type Sorted = "ascending" | "descending" | undefined;

interface SortHeadProps {
  /** The words of the button. */
  title: string;
  /** The line below them: what the number is. */
  below?: string;
  sorted: Sorted;
  /** Without it, the table is not sorted by this column. */
  turn?: () => void;
  /** Its cells are numbers. */
  number?: boolean;
  /** The title in a file, which has the words of no button. */
  named?: string;
  /** What stands below the button. */
  children?: ReactNode;
}

/** The title of a column, which sorts its table. */
export function SortHead({ title, below, sorted, turn, number, named = title, children }: SortHeadProps) {
  return (
    <th
      scope="col"
      data-number={number || undefined}
      data-export={named}
      className={number ? ui.number : undefined}
      aria-sort={sorted}
    >
      {turn ? (
        <UnstyledButton className={styles.sort} onClick={turn}>
          {title}
          {sorted && <span aria-hidden="true">{sorted === "ascending" ? " ▲" : " ▼"}</span>}
          {below && (
            <>
              <br />
              {below}
            </>
          )}
        </UnstyledButton>
      ) : (
        title
      )}
      {children}
    </th>
  );
}
