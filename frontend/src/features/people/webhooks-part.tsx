import { Button, Checkbox, Group, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import {
  createWebhookMutation,
  listWebhooksOptions,
  listWebhooksQueryKey,
} from "@/lib/client/@tanstack/react-query.gen";
import type { WebhookEvent } from "@/lib/client/types.gen";
import { ProjectPicker } from "@/lib/projects/project-picker";
import { useProjects } from "@/lib/projects/use-projects";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LoadFault } from "@/lib/ui/load-fault";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { ShownOnce } from "@/lib/ui/shown-once";
import { Deliveries } from "./deliveries";
import { ListTable } from "./list-table";
import { WebhookRow } from "./webhook-row";
import { EVENTS, USUAL, urlFault } from "./webhook-words";

const LOOK_MILLISECONDS = 1500;

/** The webhooks, looked at again while something waits for one, and a form for another one. */
export function WebhooksPart() {
  const query = useQuery({
    ...listWebhooksOptions(),
    refetchInterval: ({ state }) =>
      state.data?.items.some((webhook) => webhook.waiting > 0) ? LOOK_MILLISECONDS : false,
  });
  const [shown, setShown] = useState<string>();
  const items = query.data?.items ?? [];
  const open = items.find(({ id }) => id === shown);
  return (
    <Section title="Webhooks" testId="webhooks-part">
      <LoadFault what="The webhooks could not be loaded." query={query} />
      {items.length > 0 && (
        <ListTable
          label="List of webhooks"
          titles={["Address", "Events", "State", "Last delivery"]}
          testId="webhooks"
        >
          {items.map((webhook) => (
            <WebhookRow
              key={webhook.id}
              webhook={webhook}
              open={webhook.id === shown}
              show={() => setShown(webhook.id === shown ? undefined : webhook.id)}
            />
          ))}
        </ListTable>
      )}
      {open && <Deliveries key={open.id} webhook={open} />}
      <NewWebhook />
    </Section>
  );
}

function NewWebhook() {
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState<string[]>([...USUAL]);
  const [project, setProject] = useState<string>();
  const projects = useProjects();
  const client = useQueryClient();
  const create = useMutation({
    ...createWebhookMutation(),
    onSuccess: () => {
      setUrl("");
      return client.invalidateQueries({ queryKey: listWebhooksQueryKey() });
    },
  });
  const fault = urlFault(url);
  return (
    <>
      <p className={screen.note}>
        A webhook notifies another server when runs and experiments start or end. It sends signed requests to
        an https address, and retries for about a day.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate({ body: { url, events: events as WebhookEvent[], project } });
        }}
      >
        <ProjectPicker
          projects={projects}
          value={project}
          all="All projects"
          description="Only events of this project are sent."
          onChange={setProject}
        />
        <Checkbox.Group label="Events" value={events} onChange={setEvents}>
          <Group gap="8px 22px" mt={4} mb={14}>
            {EVENTS.map(([event, words]) => (
              <Checkbox key={event} value={event} label={words} size="xs" />
            ))}
          </Group>
        </Checkbox.Group>
        <div className={screen.form}>
          <TextInput
            label="Address"
            placeholder="https://example.org/hook"
            w={420}
            value={url}
            maxLength={2000}
            error={fault}
            onChange={(event) => setUrl(event.currentTarget.value.trim())}
            data-testid="webhook-url"
          />
          <Button
            type="submit"
            disabled={url === "" || fault !== undefined || events.length === 0}
            loading={create.isPending}
            data-testid="add-webhook"
          >
            Add webhook
          </Button>
        </div>
      </form>
      {create.isError && <ErrorPanel what="The webhook could not be added." error={create.error} />}
      {create.data && (
        <ShownOnce text={create.data.secret} testId="new-webhook">
          The receiver at {create.data.url} verifies signatures with this secret. It is not shown again.
        </ShownOnce>
      )}
    </>
  );
}
