import { Button, Group, NativeSelect, NumberInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { readQueueQueryKey, setPolicyMutation } from "@/lib/client/@tanstack/react-query.gen";
import type { QueuePolicy } from "@/lib/client/types.gen";
import { Allowed } from "@/lib/people/allowed";
import { ErrorPanel } from "@/lib/ui/error-panel";
import styles from "./queue.module.css";

type Order = NonNullable<QueuePolicy["order"]>;
type Amount = Exclude<keyof QueuePolicy, "order">;

const ORDERS: Record<Order, { label: string; meaning: string }> = {
  "first-come": { label: "First come, first served", meaning: "The oldest experiment goes first." },
  priority: {
    label: "Priority with ageing",
    meaning: "The highest priority goes first; waiting adds to it, so nothing waits forever.",
  },
  "fair-share": {
    label: "Fair share between users",
    meaning: "The user who has used the cluster least goes first; recent use counts most.",
  },
  "shortest-service": {
    label: "Shortest service first",
    meaning: "The least predicted duration × ranks goes first, from the history of similar runs.",
  },
};

interface AmountField {
  name: Amount;
  label: string;
  description: string;
  of?: Order;
}

const FIELDS: readonly AmountField[] = [
  {
    name: "ageing_minutes",
    label: "Ageing, minutes",
    description: "Waiting that counts as one point of priority; empty: none.",
    of: "priority",
  },
  {
    name: "half_life_hours",
    label: "Half-life, hours",
    description: "After it, use of the cluster counts half.",
    of: "fair-share",
  },
  {
    name: "patience_hours",
    label: "Patience, hours",
    description: "An experiment that has waited this long goes first; empty: never.",
    of: "shortest-service",
  },
  {
    name: "max_waiting_runs",
    label: "Waiting runs per user, at most",
    description: "An experiment that exceeds it is refused; empty: no limit.",
  },
  {
    name: "max_active_runs",
    label: "Active runs per user, at most",
    description: "Runs beyond it are held back; empty: no limit.",
  },
];

/** Order and limits of a cluster's queue. */
export function PolicyForm({ cluster, policy }: { cluster: string; policy: QueuePolicy }) {
  const client = useQueryClient();
  const [draft, setDraft] = useState(policy);
  const save = useMutation({
    ...setPolicyMutation(),
    onSuccess: () => client.invalidateQueries({ queryKey: readQueueQueryKey({ path: { name: cluster } }) }),
  });
  const order = draft.order ?? "first-come";
  const shown = FIELDS.filter((field) => field.of === undefined || field.of === order);
  return (
    <form
      className={styles.form}
      aria-label="Policy of the queue"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate({ path: { name: cluster }, body: draft });
      }}
    >
      <NativeSelect
        label="Order"
        description={ORDERS[order].meaning}
        value={order}
        data={Object.entries(ORDERS).map(([value, { label }]) => ({ value, label }))}
        onChange={(event) => setDraft({ ...draft, order: event.currentTarget.value as Order })}
      />
      {shown.map(({ name, label, description }) => (
        <NumberInput
          key={name}
          label={label}
          description={description}
          min={0}
          value={draft[name] ?? ""}
          onChange={(value) => setDraft({ ...draft, [name]: typeof value === "number" ? value : null })}
        />
      ))}
      <Group className={styles.save} gap={12}>
        <Allowed least="operator">
          <Button type="submit" loading={save.isPending} disabled={draft === policy}>
            Save policy
          </Button>
        </Allowed>
        <span className={styles.quiet}>Applies from the next launch.</span>
      </Group>
      {save.isError && <ErrorPanel what="The policy could not be saved." error={save.error} />}
    </form>
  );
}
