import { Button, Skeleton } from "@mantine/core";
import styles from "./experiments.module.css";

export function NothingFits({ clear }: { clear: () => void }) {
  return (
    <p className={styles.nothing} data-testid="nothing-fits">
      No experiment matches.{" "}
      <Button variant="default" size="compact-sm" onClick={clear}>
        Show all
      </Button>
    </p>
  );
}

export function Placeholder() {
  return (
    <ul className={styles.list} aria-busy="true" aria-label="Loading experiments">
      {[0, 1, 2, 3].map((row) => (
        <li key={row} className={`${styles.item} ${styles.expected}`}>
          <div className={styles.main}>
            <Skeleton height={20} width="38%" />
            <Skeleton height={14} width="60%" mt={12} />
            <Skeleton height={14} width="80%" mt={12} />
            <Skeleton height={12} width="45%" mt={12} />
          </div>
        </li>
      ))}
    </ul>
  );
}
