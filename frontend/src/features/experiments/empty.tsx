import { Button, Group, Skeleton } from "@mantine/core";
import { LinkButton } from "@/lib/ui/link-button";
import { Message } from "@/lib/ui/message";
import styles from "./experiments.module.css";
import { type Import, ImportButton, ImportFault } from "./import-button";

export function Empty({ act }: { act: Import }) {
  return (
    <Message
      page
      title="No experiments yet"
      testId="empty"
      action={
        <>
          <Group justify="center">
            <LinkButton to="/new" search={{ example: true }} data-testid="start-example">
              Start with the example
            </LinkButton>
            <LinkButton to="/new" variant="default">
              Define your own
            </LinkButton>
            <ImportButton act={act} />
          </Group>
          <ImportFault act={act} />
          <Group justify="center" mt={28} gap={6}>
            <LinkButton to="/" search={{ filter: "archived" }} variant="subtle" size="compact-sm">
              Archived experiments
            </LinkButton>
            <LinkButton to="/" search={{ show: "deleted" }} variant="subtle" size="compact-sm">
              Deleted experiments
            </LinkButton>
          </Group>
        </>
      }
    >
      An experiment trains one workload with several algorithms on several seeds, and shows which one reaches
      the target first. The example compares five algorithms on handwritten digits and takes less than three
      minutes.
    </Message>
  );
}

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
