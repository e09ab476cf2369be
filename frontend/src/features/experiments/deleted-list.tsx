import { Button, Group } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { listDeletedExperiments } from "@/lib/client/sdk.gen";
import type { DeletedExperiment } from "@/lib/client/types.gen";
import { useRefresh } from "@/lib/events/use-refresh";
import { useStream } from "@/lib/events/use-stream";
import { formatAge, formatMoment } from "@/lib/format/time";
import { Allowed } from "@/lib/people/allowed";
import { LoadFault } from "@/lib/ui/load-fault";
import own from "./deleted-list.module.css";
import styles from "./experiments.module.css";

const PAGE = 50;
const DELETED = ["deleted-experiments"];

function useDeleted() {
  const query = useInfiniteQuery({
    queryKey: DELETED,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) => {
      const asked = { query: { limit: PAGE, cursor: pageParam }, signal, throwOnError: true as const };
      return (await listDeletedExperiments(asked)).data;
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const refresh = useRefresh(DELETED, 1500);
  useStream({}, (event) => {
    if (event.kind === "experiment" || event.kind === "reset") refresh();
  });
  return query;
}

/** The experiments that are deleted and can still be restored. */
export function DeletedList(props: {
  now: number;
  busy: boolean;
  restore: (item: DeletedExperiment) => void;
}) {
  const query = useDeleted();
  const items = query.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      <LoadFault what="The experiments could not be loaded." query={query} />
      {query.isSuccess && items.length === 0 && <p className={styles.nothing}>No deleted experiments.</p>}
      <ul className={styles.list} data-testid="deleted">
        {items.map((item) => (
          <li key={item.id} className={`${styles.item} ${own.row}`} data-testid="deleted-item">
            <div className={styles.main}>
              <bdi className={styles.gone}>{item.name}</bdi>
              <div className={styles.facts}>
                <span>#{item.number}</span>
                <span>{item.workload}</span>
                <span title={formatMoment(item.deleted_at)}>
                  deleted by {item.deleted_by} {formatAge(item.deleted_at, props.now)}
                </span>
                <span>can be restored until {formatMoment(item.purge_at)}</span>
              </div>
            </div>
            <Allowed least="researcher">
              <Button
                variant="default"
                size="compact-sm"
                loading={props.busy}
                onClick={() => props.restore(item)}
                aria-label={`Restore ${item.name}`}
              >
                Restore
              </Button>
            </Allowed>
          </li>
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
