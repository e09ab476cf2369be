import { type ReactNode, useRef } from "react";
import { TableMenu } from "@/lib/export/table-menu";
import styles from "./ui.module.css";

interface TableRegionProps {
  /** What the table is of; also the name of the files that are made of it. */
  label: string;
  children: ReactNode;
  /** Draws rows that are not in view before the table is taken away; what it returns ends that. */
  prepare?: () => () => void;
  /** Further items of its menu: of a table that is a drawing, too. */
  more?: ReactNode;
}

/** A table that scrolls in its place where it is wider, and can be taken away. */
export function TableRegion({ label, children, prepare, more }: TableRegionProps) {
  const region = useRef<HTMLElement>(null);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section ref={region} className={styles.tableWrap} aria-label={label} tabIndex={0}>
        {children}
      </section>
      <div className={styles.tableTools}>
        <TableMenu
          of={label}
          table={() => region.current?.querySelector("table") ?? null}
          prepare={prepare}
          more={more}
        />
      </div>
    </>
  );
}
