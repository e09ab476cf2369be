import { Button, Group } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { ExperimentView } from "@/lib/client/types.gen";
import { Allowed } from "@/lib/people/allowed";
import { EditMarks } from "./edit-marks";
import { NoteView } from "./note-view";
import { Star } from "./star";
import { TagLinks } from "./tag-links";
import { useChange } from "./use-change";

interface ExperimentMarksProps {
  experiment: ExperimentView;
  /** Further controls beside them. */
  children?: ReactNode;
}

/** Star, tags and note of an experiment, on its page. */
export function ExperimentMarks({ experiment, children }: ExperimentMarksProps) {
  const [editing, setEditing] = useState(false);
  const change = useChange();
  return (
    <>
      <Group gap={6} mt={12} data-testid="marks">
        <Allowed least="researcher" of={experiment.user}>
          <Star
            name={experiment.name}
            starred={experiment.starred}
            busy={change.isPending}
            act={() =>
              change.mutate({
                path: { experiment_id: experiment.id },
                body: { starred: !experiment.starred },
              })
            }
          />
        </Allowed>
        <TagLinks tags={experiment.tags} />
        <Allowed least="researcher" of={experiment.user}>
          <Button
            variant="subtle"
            size="compact-xs"
            onClick={() => setEditing(true)}
            data-testid="edit-marks"
          >
            {experiment.note || experiment.tags.length > 0 ? "Edit" : "Add tags or a note"}
          </Button>
        </Allowed>
        {children}
      </Group>
      {experiment.note && <NoteView text={experiment.note} />}
      {editing && <EditMarks experiment={experiment.id} onClose={() => setEditing(false)} />}
    </>
  );
}
