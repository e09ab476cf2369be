import { Button, Group, Modal, NumberInput, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { extendExperimentMutation, readExperimentQueryKey } from "@/lib/client/@tanstack/react-query.gen";
import type { Comparison, ExperimentView } from "@/lib/client/types.gen";
import { formatCount } from "@/lib/format/numbers";
import { whyNotExtended } from "@/lib/keeping/extensible";
import { Allowed } from "@/lib/people/allowed";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { type Room, roomFor } from "./extending";

interface AddSeedsProps {
  experiment: ExperimentView;
  comparison: Comparison | undefined;
  /** How many are proposed. */
  more?: number;
  /** Small, within a text. */
  small?: boolean;
  /** The address asks for the window, and what takes it out of there. */
  asked?: boolean;
  answered?: () => void;
}

const seeds = (count: number) => `${count} ${count === 1 ? "seed" : "seeds"}`;

/** A button that asks how many seeds are to be added, where any may be; they make a new version of the experiment. */
export function AddSeeds({ experiment, comparison, more, small, asked, answered }: AddSeedsProps) {
  const [asking, setAsking] = useState(false);
  const room = roomFor(experiment, comparison);
  // what an address asks for in vain would open the window later, unasked
  const vain = asked && !room && (whyNotExtended(experiment) !== undefined || comparison !== undefined);
  useEffect(() => {
    if (vain) answered?.();
  }, [vain, answered]);
  if (!room || (more !== undefined && more > room.most)) return null;
  return (
    <Allowed least="researcher" of={experiment.user}>
      <Button
        variant="default"
        size={small ? "compact-xs" : undefined}
        onClick={() => setAsking(true)}
        data-testid={small ? "add-lacking-seeds" : "add-seeds"}
      >
        {more === undefined ? "Add seeds" : `Add ${seeds(more)}`}
      </Button>
      {(asking || asked) && (
        <SeedsWindow
          experiment={experiment}
          room={room}
          proposed={more ?? Math.min(2, room.most)}
          onClose={() => {
            setAsking(false);
            if (asked) answered?.();
          }}
        />
      )}
    </Allowed>
  );
}

interface SeedsWindowProps {
  experiment: ExperimentView;
  room: Room;
  proposed: number;
  onClose: () => void;
}

function SeedsWindow({ experiment, room, proposed, onClose }: SeedsWindowProps) {
  const [value, setValue] = useState<number | string>(proposed);
  const client = useQueryClient();
  const extend = useMutation({
    ...extendExperimentMutation(),
    onSuccess: (view) => {
      client.setQueryData(readExperimentQueryKey({ path: { experiment_id: view.id } }), view);
      onClose();
    },
  });
  const count = typeof value === "number" && Number.isInteger(value) ? value : 0;
  const fits = count >= 1 && count <= room.most;
  const last = room.next + count - 1;
  return (
    <Modal opened onClose={onClose} title="Add seeds to this experiment">
      <NumberInput
        label="Additional seeds per variant"
        value={value}
        onChange={setValue}
        min={1}
        max={room.most}
        allowDecimal={false}
        error={fits ? undefined : `A whole number from 1 to ${room.most}`}
        data-autofocus
        data-testid="further-seeds"
      />
      <Text size="sm" mt="sm" data-testid="further-runs">
        {fits
          ? `${formatCount(count * room.runs)} additional ${count * room.runs === 1 ? "run" : "runs"}, ${count === 1 ? `seed ${last}` : `seeds ${room.next} to ${last}`}. `
          : ""}
        Settings stay unchanged, and all seeds count as one comparison. The verdict will note that seeds were
        added after a first comparison.
      </Text>
      {extend.isError && <ErrorPanel what="The seeds could not be added." error={extend.error} />}
      <Group justify="flex-end" gap="xs" mt="md">
        <Button variant="default" disabled={extend.isPending} onClick={onClose}>
          Cancel
        </Button>
        <Button
          disabled={!fits}
          loading={extend.isPending}
          onClick={() =>
            extend.mutate({
              path: { experiment_id: experiment.id },
              body: { seeds: count, version: experiment.version },
            })
          }
          data-testid="extend"
        >
          Add {seeds(count)}
        </Button>
      </Group>
    </Modal>
  );
}
