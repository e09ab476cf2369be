import {
  cancelExperiment,
  cancelRun,
  changeExperiment,
  deleteExperiment,
  retryRun,
} from "@/lib/client/sdk.gen";
import type { ExperimentChange, ExperimentView, RunView } from "@/lib/client/types.gen";
import { isTerminal } from "@/lib/ui/states";

/** What is asked before something is done that has no way back. */
export interface Question {
  readonly question: string;
  readonly confirm: string;
  readonly keep?: string;
}

/** Something that is done with what the page shows. */
export interface Deed {
  readonly label: string;
  readonly act: () => Promise<unknown>;
  /** Asked first. */
  readonly asks?: Question;
  /** The page that is shown afterwards. */
  readonly next?: string;
}

const change = (id: string, body: ExperimentChange) => () =>
  changeExperiment({ path: { experiment_id: id }, body, throwOnError: true });

/** What can be done with an experiment, as its page and the list offer it. */
export function deedsOfExperiment(view: ExperimentView): Deed[] {
  const { id, starred, archived, state } = view;
  const path = { experiment_id: id };
  const ended = isTerminal(state);
  return [
    {
      label: starred ? "Remove the star of this experiment" : "Star this experiment",
      act: change(id, { starred: !starred }),
    },
    {
      label: archived ? "Unarchive this experiment" : "Archive this experiment",
      act: change(id, { archived: !archived }),
    },
    ...(ended
      ? []
      : [
          {
            label: "Cancel the runs of this experiment",
            act: () => cancelExperiment({ path, throwOnError: true }),
            asks: {
              question: "Cancel all runs of this experiment that have not ended? Measured data is kept.",
              confirm: "Cancel the runs",
            },
          },
        ]),
    ...(ended && !view.protected
      ? [
          {
            label: "Delete this experiment",
            act: () => deleteExperiment({ path, throwOnError: true }),
            asks: {
              question:
                "Delete this experiment? For some days, it can be restored from “Deleted experiments”.",
              confirm: "Delete",
              keep: "Keep it",
            },
            next: "/",
          },
        ]
      : []),
  ];
}

/** What can be done with a run. */
export function deedsOfRun({ id, state, rung }: RunView): Deed[] {
  const path = { run_id: id };
  if (!isTerminal(state))
    return [
      {
        label: "Cancel this run",
        act: () => cancelRun({ path, throwOnError: true }),
        asks: {
          question: "Cancel this run? Measured data is kept.",
          confirm: "Cancel the run",
        },
      },
    ];
  return state !== "succeeded" && rung === null
    ? [{ label: "Retry this run", act: () => retryRun({ path, body: { resume: true }, throwOnError: true }) }]
    : [];
}
