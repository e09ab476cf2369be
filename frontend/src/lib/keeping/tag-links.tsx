import { Link } from "@tanstack/react-router";
import styles from "./keeping.module.css";
import { quoted } from "./quoted";

/** The tags of an experiment; each leads to all that have it. */
export function TagLinks({ tags }: { tags: readonly string[] }) {
  return tags.map((tag) => (
    <Link
      key={tag}
      to="/"
      search={{ filter: `tag = ${quoted(tag)}` }}
      className={styles.tag}
      title={`All experiments tagged ${tag}`}
      data-testid="tag"
    >
      {tag}
    </Link>
  ));
}
