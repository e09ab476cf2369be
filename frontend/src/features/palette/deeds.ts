import { newKey } from "@/lib/api/new-key";
import {
  cancelExperiment,
  cancelRun,
  changeExperiment,
  createExperiment,
  deleteExperiment,
  importExperiment,
  listRuns,
  retryRun,
} from "@/lib/client/sdk.gen";
import type { ExperimentChange, ExperimentView, RunView } from "@/lib/client/types.gen";
import { intoQuery } from "@/lib/projects/use-projects";
import { isTerminal } from "@/lib/ui/states";
import { chosenFile } from "./chosen-file";

/** Is told what is being done. */
type Tell = (words: string) => void;

/** What is asked before something is done that has no way back. */
export interface Question {
  readonly question: string;
  readonly confirm: string;
  readonly keep?: string;
}

/** Something that is done with what the page shows. */
export interface Deed {
  readonly label: string;
  /** Tells more of it. */
  readonly more?: string;
  /** Does it; where it may take a while, tells what is being done. */
  readonly act: (tell: Tell) => Promise<unknown>;
  /** Asked first. */
  readonly asks?: Question;
  /** What is said if it fails, where a part of it may be done then; otherwise that nothing was changed. */
  readonly fails?: string;
  /** The page that is shown afterwards, or that of what came of it: none, where it was given up; undefined: this one. */
  readonly next?: string | ((answer: unknown) => string | undefined);
}

/** The page of the experiment that was made; undefined: none was. */
const pageOfMade = (id: unknown) => (typeof id === "string" ? `/experiments/${id}` : undefined);

const change = (id: string, body: ExperimentChange) => () =>
  changeExperiment({ path: { experiment_id: id }, body, throwOnError: true });

const FAILED = ["failed_user", "failed_infra", "timed_out"] as const;

/** Queue another attempt of every reported run that failed; page after page, until none is left or one is refused. */
async function retryFailed(experiment: string, tell: Tell): Promise<void> {
  const query = { experiment, state: [...FAILED], reported: true, limit: 500 };
  let cursor: string | null | undefined;
  let count = 0;
  do {
    const { data } = await listRuns({ query: { ...query, cursor }, throwOnError: true });
    for (const { id } of data.items) {
      count += 1;
      tell(`Retrying failed runs: ${count} …`);
      await retryRun({ path: { run_id: id }, body: { resume: true }, throwOnError: true });
    }
    cursor = data.next_cursor;
  } while (cursor);
}

/** Ask for a file and import it into a project; the question of the browser needs a key or a click just before. */
export function importInto(project: string | undefined): Deed {
  const query = intoQuery(project);
  return {
    label: "Import an experiment from a file",
    more: query && `into the project ${query.project}`,
    act: async (tell) => {
      const file = await chosenFile(".zip,application/zip");
      if (!file) return undefined;
      tell(`Importing ${file.name} …`);
      return (await importExperiment({ body: file, query, throwOnError: true })).data.id;
    },
    fails: "The experiment could not be imported.",
    next: pageOfMade,
  };
}

/** Keys of reruns that no answer has come to, by experiment, version and name: asked for again, they make no second one. */
const unanswered = new Map<string, string>();

/** Submit the specification of an experiment again, under the name that it has now. */
async function rerun({ id, version, project, name, spec }: ExperimentView): Promise<string> {
  const of = `${id} ${version} ${name}`;
  const key = unanswered.get(of) ?? newKey();
  unanswered.set(of, key);
  const headers = { "Idempotency-Key": key };
  const { data } = await createExperiment({
    body: { ...spec, name },
    query: intoQuery(project),
    headers,
    throwOnError: true,
  });
  unanswered.delete(of);
  return data.id;
}

function failedWords(count: number, tuned: boolean): string {
  if (tuned) return "the reported runs";
  return count === 1 ? "the run" : `the ${count} runs`;
}

/** What can be done with an experiment, as its page and the list offer it. */
export function deedsOfExperiment(view: ExperimentView): Deed[] {
  const { id, starred, archived, state } = view;
  const path = { experiment_id: id };
  const ended = isTerminal(state);
  const failed = FAILED.reduce((sum, one) => sum + (view.runs[one] ?? 0), 0);
  return [
    {
      label: starred ? "Remove the star of this experiment" : "Star this experiment",
      act: change(id, { starred: !starred }),
    },
    {
      label: archived ? "Unarchive this experiment" : "Archive this experiment",
      act: change(id, { archived: !archived }),
    },
    {
      label: "Rerun this experiment",
      act: () => rerun(view),
      asks: {
        question:
          "Submit the same specification as a new experiment? What it does not name has the defaults of now. To change it first, clone it.",
        confirm: "Rerun",
      },
      next: pageOfMade,
    },
    ...(failed > 0 && !view.origin
      ? [
          {
            label: "Retry the failed runs of this experiment",
            act: (tell: Tell) => retryFailed(id, tell),
            fails: "Not all of the failed runs were retried.",
            asks: {
              // trials are counted with the others, but not retried
              question: `Queue another attempt of ${failedWords(failed, Boolean(view.spec.tuning))} that failed? Each continues from its latest checkpoint.`,
              confirm: "Retry",
            },
          },
        ]
      : []),
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
