import { Link } from "@tanstack/react-router";
import styles from "./keeping.module.css";
import { quoted } from "./quoted";

interface TagLinksProps {
  tags: readonly string[];
  /** Whether they stand in the list of experiments, whose project, order and columns then stay. */
  listed?: boolean;
}

/** The tags of an experiment; each leads to all that have it. */
export function TagLinks({ tags, listed }: TagLinksProps) {
  return tags.map((tag) => (
    <Link
      key={tag}
      to="/"
      search={({ project, sort, columns }) => ({
        ...(listed ? { project, sort, columns } : {}),
        filter: `tag = ${quoted(tag)}`,
      })}
      className={styles.tag}
      title={`All experiments tagged ${tag}`}
      data-testid="tag"
    >
      {tag}
    </Link>
  ));
}
