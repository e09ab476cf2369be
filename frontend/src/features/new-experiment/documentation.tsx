import { unfilled } from "@/lib/format/docstring";
import styles from "./form.module.css";

/** What the file of a method or of a workload says of it. */
export function Documentation({ text }: { text: string }) {
  return <pre className={styles.documentation}>{unfilled(text)}</pre>;
}
