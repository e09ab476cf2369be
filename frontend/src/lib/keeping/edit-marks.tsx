import { Button, Group, Modal, TagsInput, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { statusOf } from "@/lib/api/problem";
import { readExperimentOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { ExperimentView } from "@/lib/client/types.gen";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LoadFault } from "@/lib/ui/load-fault";
import { useChange } from "./use-change";

interface EditMarksProps {
  experiment: string;
  /** Tags that others have, to choose from. */
  known?: readonly string[];
  onClose: () => void;
}

/** A window in which tags and note of an experiment are edited. What was typed is not lost by a click beside it or by Escape. */
export function EditMarks({ experiment, known = [], onClose }: EditMarksProps) {
  const query = useQuery(readExperimentOptions({ path: { experiment_id: experiment } }));
  const [typed, setTyped] = useState(false);
  return (
    <Modal
      opened
      onClose={onClose}
      closeOnClickOutside={!typed}
      closeOnEscape={!typed}
      title="Tags and note"
      size="lg"
    >
      <LoadFault what="The experiment could not be loaded." query={query} />
      {query.data && (
        <Fields view={query.data} known={known} typed={() => setTyped(true)} onClose={onClose} />
      )}
    </Modal>
  );
}

/** `view` of the first look: what somebody else saves meanwhile must not replace what is being typed. */
function Fields({
  view,
  known,
  typed,
  onClose,
}: {
  view: ExperimentView;
  known: readonly string[];
  /** Told when something is typed. */
  typed: () => void;
  onClose: () => void;
}) {
  const [before] = useState(view);
  const [tags, setTags] = useState<string[]>(view.tags);
  const [note, setNote] = useState(view.note);
  const change = useChange();
  const save = () =>
    change.mutate(
      {
        path: { experiment_id: before.id },
        // a note that somebody else has changed is not overwritten; tags do not need this
        headers: note === before.note ? undefined : { "If-Match": `"${before.revision}"` },
        body: {
          note: note === before.note ? undefined : note,
          add_tags: tags.filter((tag) => !before.tags.includes(tag)),
          remove_tags: before.tags.filter((tag) => !tags.includes(tag)),
        },
      },
      { onSuccess: onClose },
    );
  const overtaken = statusOf(change.error) === 412;
  return (
    <>
      <TagsInput
        label="Tags"
        description="Enter adds one; letters, digits and . : / + _ -"
        value={tags}
        onChange={(next) => {
          typed();
          setTags(next);
        }}
        data={[...known]}
        maxTags={20}
        clearable
      />
      <Textarea
        label="Note"
        description="Markdown: headings, lists, **strong**, *emphasis*, `code`, links"
        mt="md"
        autosize
        minRows={6}
        maxRows={18}
        maxLength={10_000}
        value={note}
        onChange={(event) => {
          typed();
          setNote(event.currentTarget.value);
        }}
      />
      {change.isError && (
        <ErrorPanel
          what={
            overtaken
              ? "Someone else has changed this experiment. Copy your note, then reopen this dialog."
              : "The changes could not be saved."
          }
          error={change.error}
        />
      )}
      <Group justify="flex-end" gap="xs" mt="md">
        <Button variant="default" disabled={change.isPending} onClick={onClose}>
          Cancel
        </Button>
        <Button onClick={save} loading={change.isPending} data-testid="save-marks">
          Save
        </Button>
      </Group>
    </>
  );
}
