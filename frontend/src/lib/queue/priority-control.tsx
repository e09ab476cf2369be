import { Button, Group, NumberInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import {
  listExperimentsQueryKey,
  readExperimentQueryKey,
  setPriorityMutation,
} from "@/lib/client/@tanstack/react-query.gen";
import { ErrorPanel } from "@/lib/ui/error-panel";

interface PriorityControlProps {
  experiment: string;
  priority: number;
  /** Names the field where several are shown. */
  label?: string;
  onChanged?: () => void;
}

/** Changes the priority of an experiment that waits. */
export function PriorityControl({
  experiment,
  priority,
  label = "Priority",
  onChanged,
}: PriorityControlProps) {
  const client = useQueryClient();
  const [typed, setTyped] = useState<string | number | undefined>();
  const change = useMutation({
    ...setPriorityMutation(),
    onSuccess: (view) => {
      client.setQueryData(readExperimentQueryKey({ path: { experiment_id: view.id } }), view);
      void client.invalidateQueries({ queryKey: listExperimentsQueryKey() });
      setTyped(undefined);
      onChanged?.();
    },
  });
  const value = typed ?? priority;
  const changed = typeof value === "number" && value !== priority;
  return (
    <>
      <Group gap={6} wrap="nowrap">
        <NumberInput
          aria-label={label}
          size="xs"
          w={72}
          min={-100}
          max={100}
          allowDecimal={false}
          value={value}
          onChange={setTyped}
        />
        <Button
          size="xs"
          variant="default"
          disabled={!changed}
          loading={change.isPending}
          onClick={() =>
            change.mutate({ path: { experiment_id: experiment }, body: { priority: Number(value) } })
          }
        >
          Set
        </Button>
      </Group>
      {change.isError && <ErrorPanel what="The priority could not be changed." error={change.error} />}
    </>
  );
}
