import { Button, Group, Modal, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { calledSo, LONGEST_NAME } from "./pages";
import { useViewChanges, useViews } from "./use-views";

interface SaveViewProps {
  path: string;
  onClose: () => void;
}

/** Asks for the name under which a view is saved. A name of before may get another view. */
export function SaveView({ path, onClose }: SaveViewProps) {
  const views = useViews().data?.items ?? [];
  const { create, change } = useViewChanges();
  const [name, setName] = useState("");
  const before = calledSo(views, name);
  const failed = [create, change].find((each) => each.isError);
  const save = () => {
    if (before) change.mutate({ path: { view_id: before.id }, body: { path } }, { onSuccess: onClose });
    else create.mutate({ body: { name: name.trim(), path } }, { onSuccess: onClose });
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title="Save this view"
      closeButtonProps={{ "aria-label": "Close" }}
      centered
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <TextInput
          label="Name"
          data-autofocus
          data-testid="view-name"
          maxLength={LONGEST_NAME}
          value={name}
          onChange={(event) => {
            setName(event.currentTarget.value);
            create.reset();
            change.reset();
          }}
        />
        <Text fz={13} lh={1.5} c="dimmed" mt={8}>
          {before
            ? `“${before.name}” exists and will be replaced.`
            : "Keeps the selection, sorting and zoom. Available to you in every browser where you sign in."}
        </Text>
        {failed && <ErrorPanel what="The view could not be saved." error={failed.error} />}
        <Group gap="xs" justify="flex-end" mt="md">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            disabled={name.trim() === ""}
            loading={create.isPending || change.isPending}
            data-testid="save-view"
          >
            {before ? "Replace" : "Save"}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
