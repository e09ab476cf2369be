import { Button, Group } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { listWebhooksQueryKey } from "@/lib/client/@tanstack/react-query.gen";
import { listDeliveries, redeliver } from "@/lib/client/sdk.gen";
import type { DeliveryView, WebhookView } from "@/lib/client/types.gen";
import { NONE } from "@/lib/format/numbers";
import { formatMoment } from "@/lib/format/time";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LoadFault } from "@/lib/ui/load-fault";
import screen from "@/lib/ui/screen.module.css";
import ui from "@/lib/ui/ui.module.css";
import { useNow } from "@/lib/ui/use-now";
import { deliveryEvent, deliveryOutcome, deliveryState, deliveryTime } from "./delivery-words";
import { ListTable } from "./list-table";
import styles from "./people.module.css";

const PAGE = 20;
const LOOK_MILLISECONDS = 1500;
/** Of the query of deliveries, by webhook. */
export const DELIVERIES = "webhook-deliveries";

/** What a webhook was sent, newest first, read again while something is to be sent. */
export function Deliveries({ webhook }: { webhook: WebhookView }) {
  const path = { webhook_id: webhook.id };
  const query = useInfiniteQuery({
    queryKey: [DELIVERIES, webhook.id],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) => {
      const asked = { limit: PAGE, cursor: pageParam };
      return (await listDeliveries({ path, query: asked, signal, throwOnError: true })).data;
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ items }) => items.some(isWaiting)) ? LOOK_MILLISECONDS : false,
  });
  const items = query.data?.pages.flatMap((page) => page.items) ?? [];
  const label = `Deliveries to ${webhook.url}`;
  return (
    <div className={styles.table} data-testid="deliveries">
      <LoadFault what="The deliveries could not be loaded." query={query} />
      {query.isSuccess && items.length === 0 && (
        <p className={screen.note}>{webhook.url} has no deliveries in the last 14 days.</p>
      )}
      {items.length > 0 && (
        <p className={screen.note}>
          Sent to <code>{webhook.url}</code>, the newest first; what has ended is kept for 14 days.
        </p>
      )}
      {items.length > 0 && (
        <ListTable
          label={label}
          titles={["Event", "State", "Attempts", "Last answer", "Since", "Delivery"]}
          testId="delivery-list"
        >
          {items.map((delivery) => (
            <DeliveryRow key={delivery.id} delivery={delivery} active={webhook.active} />
          ))}
        </ListTable>
      )}
      {query.hasNextPage && (
        <Group justify="center" mb={20}>
          <Button variant="default" loading={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
            Load more
          </Button>
        </Group>
      )}
    </div>
  );
}

function isWaiting({ state }: DeliveryView): boolean {
  return state === "waiting";
}

function DeliveryRow({ delivery, active }: { delivery: DeliveryView; active: boolean }) {
  const client = useQueryClient();
  const path = { delivery_id: delivery.id };
  const again = useMutation({
    mutationFn: () => redeliver({ path, throwOnError: true }),
    onSuccess: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: [DELIVERIES, delivery.webhook_id] }),
        client.invalidateQueries({ queryKey: listWebhooksQueryKey() }),
      ]),
  });
  const now = useNow();
  const state = deliveryState(delivery);
  return (
    <tr data-testid={`delivery-${delivery.id}`}>
      <td>{deliveryEvent(delivery)}</td>
      <td>
        <span className={`${ui.state} ${ui[state.tone]}`}>
          <span className={ui.dot} />
          {state.words}
        </span>
        <div className={styles.state}>{deliveryTime(delivery, now)}</div>
      </td>
      <td>{delivery.attempts || NONE}</td>
      <td>
        <span className={styles.state}>{deliveryOutcome(delivery)}</span>
      </td>
      <td>{formatMoment(delivery.created_at)}</td>
      <td>
        <code title={`webhook-id: ${delivery.id}`}>…{delivery.id.slice(-8)}</code>
        {again.isError && <ErrorPanel what="The delivery could not be sent again." error={again.error} />}
      </td>
      <td>
        <Group justify="flex-end" wrap="nowrap" align="center" gap={8}>
          {active && (
            <Button
              size="xs"
              variant="default"
              loading={again.isPending}
              onClick={() => again.mutate()}
              title="Sends it now, with the same id and body."
              data-testid="redeliver"
            >
              {isWaiting(delivery) ? "Send now" : "Send again"}
            </Button>
          )}
        </Group>
      </td>
    </tr>
  );
}
