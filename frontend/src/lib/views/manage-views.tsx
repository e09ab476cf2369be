import { Button, Group, Modal, Text, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import type { SavedView } from "@/lib/client/types.gen";
import { ConfirmButton } from "@/lib/ui/confirm-button";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LoadFault } from "@/lib/ui/load-fault";
import { CopyLink } from "./copy-link";
import { LONGEST_NAME, pageOf } from "./pages";
import { useViewChanges, useViews } from "./use-views";
import { ViewLink } from "./view-link";
import styles from "./views.module.css";

/** All views of the user: to open, share, rename and delete. */
export function ManageViews({ onClose }: { onClose: () => void }) {
  const query = useViews();
  const views = query.data?.items ?? [];
  return (
    <Modal
      opened
      onClose={onClose}
      title="Saved views"
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
      centered
    >
      <LoadFault what="The views could not be loaded." query={query} />
      {query.isSuccess && views.length === 0 && (
        <Text fz={13} lh={1.5} c="dimmed" mt={8}>
          No saved views.
        </Text>
      )}
      <ul className={styles.list} data-testid="saved-views">
        {views.map((view) => (
          <Row key={view.id} view={view} opened={onClose} />
        ))}
      </ul>
    </Modal>
  );
}

function Row({ view, opened }: { view: SavedView; opened: () => void }) {
  const { change, remove } = useViewChanges();
  const [renaming, setRenaming] = useState(false);
  const failed = [change, remove].find((each) => each.isError);
  const path = { view_id: view.id };
  return (
    <li className={styles.row} data-testid="saved-view">
      {renaming ? (
        <Rename
          view={view}
          busy={change.isPending}
          cancel={() => {
            change.reset();
            setRenaming(false);
          }}
          save={(name) => change.mutate({ path, body: { name } }, { onSuccess: () => setRenaming(false) })}
        />
      ) : (
        <>
          <span className={styles.what}>
            <ViewLink view={view} opened={opened} />
            <span className={styles.page}>{pageOf(view.path)}</span>
          </span>
          <Group gap={6} wrap="nowrap">
            <CopyLink path={view.path} of={view.name} />
            <Button
              size="compact-sm"
              variant="default"
              aria-label={`Rename ${view.name}`}
              onClick={() => setRenaming(true)}
            >
              Rename
            </Button>
            <ConfirmButton
              label="Delete"
              size="compact-sm"
              of={view.name}
              question={`Delete the view “${view.name}”? The experiments stay.`}
              keep="Keep it"
              confirm="Delete the view"
              busy={remove.isPending}
              act={() => remove.mutate({ path })}
              testId="delete-view"
            />
          </Group>
        </>
      )}
      {failed && <ErrorPanel what="The change could not be made." error={failed.error} />}
    </li>
  );
}

interface RenameProps {
  view: SavedView;
  busy: boolean;
  save: (name: string) => void;
  cancel: () => void;
}

function Rename({ view, busy, save, cancel }: RenameProps) {
  const [name, setName] = useState(view.name);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  return (
    <form
      className={styles.rename}
      onSubmit={(event) => {
        event.preventDefault();
        save(name.trim());
      }}
    >
      <TextInput
        aria-label={`New name of ${view.name}`}
        data-mantine-stop-propagation // Escape ends this, and leaves the window open
        ref={field}
        size="xs"
        maxLength={LONGEST_NAME}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") cancel();
        }}
      />
      <Button size="compact-sm" variant="default" onClick={cancel}>
        Cancel
      </Button>
      <Button size="compact-sm" type="submit" loading={busy} disabled={name.trim() === ""}>
        Save
      </Button>
    </form>
  );
}
