import { Group } from "@mantine/core";
import type { ExperimentView } from "@/lib/client/types.gen";
import { Allowed } from "@/lib/people/allowed";
import { PriorityControl } from "@/lib/queue/priority-control";
import { WaitingNotes } from "@/lib/queue/waiting-note";

/** Why runs of an experiment wait and until when; its priority may be changed meanwhile. */
export function WaitingPart({ experiment }: { experiment: ExperimentView }) {
  if (experiment.waiting.length === 0) return null;
  return (
    <Group justify="space-between" align="flex-start" gap="6px 32px">
      <WaitingNotes waiting={experiment.waiting} />
      <Group wrap="nowrap" gap={10} mt={10} fz={13} c="dimmed">
        <span>Priority</span>
        <Allowed least="researcher" of={experiment.user}>
          <PriorityControl experiment={experiment.id} priority={experiment.priority} />
        </Allowed>
      </Group>
    </Group>
  );
}
