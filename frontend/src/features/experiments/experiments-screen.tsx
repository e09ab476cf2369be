import { Button, Group, Skeleton } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { listExperiments } from "@/lib/client/sdk.gen";
import { useStream } from "@/lib/events/use-stream";
import { useThrottled } from "@/lib/events/use-throttled";
import { useRefusal } from "@/lib/people/use-me";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LinkButton } from "@/lib/ui/link-button";
import { Message } from "@/lib/ui/message";
import { useNow } from "@/lib/ui/use-now";
import { ExperimentItem } from "./experiment-item";
import styles from "./experiments.module.css";

const PAGE = 30;

function useExperiments() {
  const query = useInfiniteQuery({
    queryKey: ["experiments", PAGE],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) => {
      const { data } = await listExperiments({
        query: { limit: PAGE, cursor: pageParam },
        signal,
        throwOnError: true,
      });
      return data;
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const refresh = useThrottled(() => void query.refetch(), 1500);
  useStream({}, (event) => {
    if (event.kind === "experiment" || event.kind === "run" || event.kind === "reset") refresh();
  });
  return query;
}

/** All experiments, newest first. */
export function ExperimentsScreen() {
  const query = useExperiments();
  const now = useNow();
  const maySubmit = useRefusal("researcher") === undefined;
  useEffect(() => {
    document.title = "Experiments · Hooke";
  }, []);
  const items = query.data?.pages.flatMap((page) => page.items) ?? [];
  if (query.isSuccess && items.length === 0) return <Empty />;
  return (
    <>
      <Group justify="space-between" align="center" mb={22}>
        <h1 className={styles.title}>Experiments</h1>
        {maySubmit && (
          <LinkButton to="/new" data-testid="new-experiment">
            New experiment
          </LinkButton>
        )}
      </Group>
      {query.isError && (
        <ErrorPanel what="The list could not be read." error={query.error} retry={() => query.refetch()} />
      )}
      {query.isPending && <Placeholder />}
      <ul className={styles.list} data-testid="experiments">
        {items.map((item) => (
          <ExperimentItem key={item.id} item={item} now={now} />
        ))}
      </ul>
      {query.hasNextPage && (
        <Group justify="center" mt={24}>
          <Button variant="default" loading={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
            Load more
          </Button>
        </Group>
      )}
    </>
  );
}

function Empty() {
  return (
    <Message
      page
      title="No experiments yet"
      testId="empty"
      action={
        <Group justify="center">
          <LinkButton to="/new" search={{ example: true }} data-testid="start-example">
            Start with the example
          </LinkButton>
          <LinkButton to="/new" variant="default">
            Define your own
          </LinkButton>
        </Group>
      }
    >
      An experiment trains one workload with several algorithms, on several seeds, and says which one reaches
      the target first. The example compares five on handwritten digits and takes under three minutes.
    </Message>
  );
}

function Placeholder() {
  return (
    <ul className={styles.list} aria-busy="true" aria-label="Loading experiments">
      {[0, 1, 2, 3].map((row) => (
        <li key={row} className={styles.item}>
          <Skeleton height={20} width="38%" />
          <Skeleton height={14} width="60%" mt={12} />
        </li>
      ))}
    </ul>
  );
}
