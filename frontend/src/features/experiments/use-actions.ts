import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { explain } from "@/lib/api/problem";
import {
  cancelExperiment,
  changeExperiment,
  deleteExperiment,
  restoreExperiment,
} from "@/lib/client/sdk.gen";
import type { ExperimentChange, ExperimentSummary } from "@/lib/client/types.gen";

export type Chosen = Pick<ExperimentSummary, "id" | "number" | "name">;

/** What came of an action, and how to take it back. */
export interface Outcome {
  readonly text: string;
  readonly failed: readonly string[];
  readonly undo: (() => void) | undefined;
}

/** What is done with experiments, by their ids, and how it is taken back. */
export interface Deed {
  /** Follows "is": "archived". */
  readonly did: string;
  readonly act: (id: string) => Promise<unknown>;
  readonly back: ((id: string) => Promise<unknown>) | undefined;
}

const change = (body: ExperimentChange) => (id: string) =>
  changeExperiment({ path: { experiment_id: id }, body, throwOnError: true });
const remove = (id: string) => deleteExperiment({ path: { experiment_id: id }, throwOnError: true });
const restore = (id: string) => restoreExperiment({ path: { experiment_id: id }, throwOnError: true });
const cancel = (id: string) => cancelExperiment({ path: { experiment_id: id }, throwOnError: true });

const ACTIONS = {
  star: { did: "starred", act: change({ starred: true }), back: change({ starred: false }) },
  unstar: { did: "no longer starred", act: change({ starred: false }), back: change({ starred: true }) },
  archive: { did: "archived", act: change({ archived: true }), back: change({ archived: false }) },
  unarchive: { did: "unarchived", act: change({ archived: false }), back: change({ archived: true }) },
  protect: { did: "protected", act: change({ protected: true }), back: change({ protected: false }) },
  unprotect: {
    did: "no longer protected",
    act: change({ protected: false }),
    back: change({ protected: true }),
  },
  delete: { did: "deleted", act: remove, back: restore },
  restore: { did: "restored", act: restore, back: undefined },
  cancel: { did: "being cancelled", act: cancel, back: undefined },
} as const;

export type ActionName = keyof typeof ACTIONS;
/** What is done: one of those above, or another one. */
export type Action = ActionName | Deed;

/** Actions whose effect is seen where they are taken: nothing more is said. */
const QUIET: ReadonlySet<Action> = new Set(["star", "unstar"]);

function named(items: readonly Chosen[]): string {
  const [first] = items;
  if (first && items.length === 1) return `“${first.name}” is`;
  return `${items.length} experiments are`;
}

/** Does something with one or several experiments, one after the other, and keeps how to undo it. */
export function useActions() {
  const client = useQueryClient();
  const [outcome, setOutcome] = useState<Outcome>();
  const [busy, setBusy] = useState(false);

  const run = useCallback(
    async (action: Action, items: readonly Chosen[]) => {
      const { did, act, back }: Deed = typeof action === "string" ? ACTIONS[action] : action;
      setBusy(true);
      const done: Chosen[] = [];
      const failed: string[] = [];
      for (const item of items) {
        try {
          await act(item.id);
          done.push(item);
        } catch (error) {
          failed.push(`#${item.number}: ${explain(error)}`);
        }
      }
      setBusy(false);
      void client.invalidateQueries({ queryKey: ["experiments"] });
      void client.invalidateQueries({ queryKey: ["deleted-experiments"] });
      const undo = async () => {
        setOutcome(undefined);
        const kept: string[] = [];
        for (const item of done)
          await back?.(item.id).catch((error) => kept.push(`#${item.number}: ${explain(error)}`));
        void client.invalidateQueries({ queryKey: ["experiments"] });
        void client.invalidateQueries({ queryKey: ["deleted-experiments"] });
        if (kept.length > 0)
          setOutcome({ text: "The action could not be undone.", failed: kept, undo: undefined });
      };
      if (QUIET.has(action) && items.length === 1 && failed.length === 0) return;
      setOutcome({
        text: done.length > 0 ? `${named(done)} ${did}.` : "Nothing was changed.",
        failed,
        undo: done.length > 0 && back ? () => void undo() : undefined,
      });
    },
    [client],
  );
  const dismiss = useCallback(() => setOutcome(undefined), []);
  return { run, busy, outcome, dismiss };
}
