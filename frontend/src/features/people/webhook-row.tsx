import { Button, Group } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import {
  changeWebhookMutation,
  deleteWebhookMutation,
  listWebhooksQueryKey,
  testWebhookMutation,
} from "@/lib/client/@tanstack/react-query.gen";
import type { WebhookView } from "@/lib/client/types.gen";
import { formatMoment } from "@/lib/format/time";
import { ConfirmButton } from "@/lib/ui/confirm-button";
import { ErrorPanel } from "@/lib/ui/error-panel";
import ui from "@/lib/ui/ui.module.css";
import { useNow } from "@/lib/ui/use-now";
import { DELIVERIES } from "./deliveries";
import styles from "./people.module.css";
import { eventWords, lastWords, webhookState } from "./webhook-words";

interface WebhookRowProps {
  webhook: WebhookView;
  /** Whether its deliveries are shown. */
  open: boolean;
  /** Show its deliveries, or hide them again. */
  show: () => void;
}

/** One webhook: what it is told of, what came of the last attempt; deliveries, test, switch, removal. */
export function WebhookRow({ webhook, open, show }: WebhookRowProps) {
  const client = useQueryClient();
  const again = {
    onSuccess: () =>
      Promise.all(
        [listWebhooksQueryKey(), [DELIVERIES, webhook.id]].map((queryKey) =>
          client.invalidateQueries({ queryKey }),
        ),
      ),
  };
  const change = useMutation({ ...changeWebhookMutation(), ...again });
  const test = useMutation({ ...testWebhookMutation(), ...again });
  const remove = useMutation({ ...deleteWebhookMutation(), ...again });
  const now = useNow();
  const state = webhookState(webhook);
  const path = { webhook_id: webhook.id };
  const failed = [change, test, remove].find((each) => each.isError);
  return (
    <tr data-testid={`webhook-${webhook.id}`}>
      <td>
        <code className={styles.address}>{webhook.url}</code>
        {failed && <ErrorPanel what="The change could not be made." error={failed.error} />}
      </td>
      <td>
        {eventWords(webhook.events)}
        {webhook.project && <div className={styles.state}>in the project {webhook.project}</div>}
      </td>
      <td>
        <span className={`${ui.state} ${ui[state.tone]} ${styles.state}`}>
          <span className={ui.dot} />
          {state.words}
        </span>
      </td>
      <td title={formatMoment(webhook.last_at)}>
        <span className={styles.state}>{lastWords(webhook, now)}</span>
      </td>
      <td>
        <Group justify="flex-end" wrap="nowrap" align="center" gap={8}>
          <Button
            size="xs"
            variant="default"
            onClick={show}
            aria-expanded={open}
            data-testid="show-deliveries"
          >
            Deliveries
          </Button>
          {webhook.active && (
            <Button
              size="xs"
              variant="default"
              loading={test.isPending}
              onClick={() => test.mutate({ path })}
              title="Sends one event webhook.test."
              data-testid="test-webhook"
            >
              Test
            </Button>
          )}
          {webhook.active ? (
            <ConfirmButton
              size="xs"
              label="Switch off"
              question="Switch this webhook off? It gets no more events, and waiting deliveries are discarded."
              keep="Keep it on"
              confirm="Switch it off"
              busy={change.isPending}
              act={() => change.mutate({ path, body: { active: false } })}
              testId="webhook-off"
            />
          ) : (
            <Button
              size="xs"
              variant="default"
              loading={change.isPending}
              onClick={() => change.mutate({ path, body: { active: true } })}
              data-testid="webhook-on"
            >
              Switch on
            </Button>
          )}
          <ConfirmButton
            size="xs"
            label="Remove"
            question="Remove this webhook with its secret and its deliveries?"
            keep="Keep it"
            confirm="Remove the webhook"
            busy={remove.isPending}
            act={() => remove.mutate({ path })}
            testId="remove-webhook"
          />
        </Group>
      </td>
    </tr>
  );
}
