import { Button, Group } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { ExperimentSummary, ProjectView } from "@/lib/client/types.gen";
import { Unless } from "@/lib/people/allowed";
import { MoveWindow } from "@/lib/projects/move-window";
import { targetsOf } from "@/lib/projects/targets";
import { ConfirmButton } from "@/lib/ui/confirm-button";
import { isTerminal } from "@/lib/ui/states";
import { moved } from "./moved";
import styles from "./selection-bar.module.css";
import type { Action, ActionName } from "./use-actions";

interface SelectionBarProps {
  chosen: readonly ExperimentSummary[];
  /** All that the user reaches: what is chosen can be moved into another one. */
  projects?: readonly ProjectView[];
  busy: boolean;
  /** Why the user may not change all of them; undefined: they may. */
  refused?: string;
  act: (action: Action, items: readonly ExperimentSummary[]) => void;
  /** Leads to their comparison. */
  compare?: ReactNode;
  /** Selects all that are listed; undefined: they are. */
  all?: () => void;
  clear: () => void;
}

/** What can be done with the chosen experiments together. */
export function SelectionBar({
  chosen,
  projects = [],
  busy,
  refused,
  act,
  compare,
  all,
  clear,
}: SelectionBarProps) {
  const into = targetsOf(
    projects,
    chosen.map(({ project }) => project),
  );
  const [moving, setMoving] = useState(false);
  if (chosen.length === 0) return null;
  const open = chosen.filter((item) => !isTerminal(item.state));
  const button = (label: string, action: ActionName, items: readonly ExperimentSummary[]) => (
    <Button
      size="compact-sm"
      variant="default"
      loading={busy}
      disabled={items.length === 0}
      onClick={() => act(action, items)}
      data-testid={`selected-${action}`}
    >
      {label}
    </Button>
  );
  const ended = chosen.filter((item) => isTerminal(item.state) && !item.protected);
  return (
    <div className={styles.selection} data-testid="selection">
      <span>{chosen.length} selected</span>
      <Group gap={6}>
        {compare}
        <Unless why={refused}>
          {button("Star", "star", chosen)}
          {chosen.every((item) => item.archived)
            ? button("Unarchive", "unarchive", chosen)
            : button("Archive", "archive", chosen)}
          {into.length > 0 && (
            <Button
              size="compact-sm"
              variant="default"
              loading={busy}
              onClick={() => setMoving(true)}
              data-testid="selected-move"
            >
              Move
            </Button>
          )}
          {open.length > 0 && (
            <ConfirmButton
              label="Cancel"
              question={`Cancel the runs of ${open.length === 1 ? "one experiment" : `${open.length} experiments`} that have not ended? Measured data is kept.`}
              confirm="Cancel the runs"
              busy={busy}
              act={() => act("cancel", open)}
              testId="selected-cancel"
              size="compact-sm"
            />
          )}
          {button(ended.length === chosen.length ? "Delete" : `Delete ${ended.length}`, "delete", ended)}
        </Unless>
        {all && (
          <Button size="compact-sm" variant="subtle" onClick={all} data-testid="select-all">
            Select all
          </Button>
        )}
        <Button size="compact-sm" variant="subtle" onClick={clear}>
          Clear
        </Button>
      </Group>
      {moving && (
        <MoveWindow
          what={chosen.length === 1 ? "one experiment" : `${chosen.length} experiments`}
          into={into}
          move={(project) => {
            const others = chosen.filter((item) => item.project !== project);
            act(moved(project, others), others);
          }}
          onClose={() => setMoving(false)}
        />
      )}
    </div>
  );
}
