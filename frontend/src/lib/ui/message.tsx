import type { ReactNode } from "react";
import { Logo } from "@/lib/theme/logo";
import styles from "./ui.module.css";

/** A page, or a place, with nothing but something to say. */
export function Message(props: {
  title: string;
  children: ReactNode;
  action?: ReactNode;
  testId?: string;
  page?: boolean;
}) {
  const Heading = props.page ? "h1" : "h2";
  return (
    <div className={styles.message} data-testid={props.testId}>
      <Logo size={44} />
      <Heading>{props.title}</Heading>
      <p>{props.children}</p>
      {props.action}
    </div>
  );
}
