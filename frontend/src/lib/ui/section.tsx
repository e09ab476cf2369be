import type { ReactNode } from "react";
import styles from "./ui.module.css";

interface SectionProps {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
  testId?: string;
  /** Where a link leads. */
  id?: string;
}

/** A part of a page under its own heading. */
export function Section(props: SectionProps) {
  return (
    <section id={props.id} className={styles.section} aria-label={props.title} data-testid={props.testId}>
      <div className={styles.sectionHead}>
        <h2 className={styles.sectionTitle}>{props.title}</h2>
        {props.aside}
      </div>
      {props.children}
    </section>
  );
}
