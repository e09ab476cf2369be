import type { RunView, TransitionView } from "@/lib/client/types.gen";

/** Status with which a rank ends whose numbers became NaN or Inf. */
const DIVERGED = 5;

export interface Failure {
  /** The exception, or what else ended the run, in one line. */
  readonly cause: string;
  /** "rank 1 on node3, exit code 3". */
  readonly where: string;
  readonly advice: string;
  /** The end of the traceback and what else was quoted. */
  readonly quoted: string;
  /** The rank whose log tells more. */
  readonly rank: number | undefined;
}

const FAILED: ReadonlySet<string> = new Set(["failed_user", "failed_infra", "timed_out"]);

/** The change of state that says why a run failed or had no time left; undefined of a run that did neither. */
export function failureOf(run: RunView): Failure | undefined {
  const last = run.history.at(-1);
  if (!last || !FAILED.has(last.state)) return undefined;
  const [head = "", ...quoted] = last.why.split("\n");
  return {
    cause:
      last.state === "timed_out" ? sentence(head) : head.replace(/^(a rank|rank \d+) raised (?!and )/, ""),
    where: placeOf(last),
    advice: adviceFor(last, run),
    quoted: quoted.join("\n"),
    rank: last.rank ?? undefined,
  };
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** The first line of a reason: what follows it is a traceback. */
export function firstLine(why: string): string {
  return why.split("\n", 1)[0] ?? "";
}

function placeOf({ rank, host, exit_code: code, signal }: TransitionView): string {
  const parts = [
    rank === null ? undefined : `rank ${rank}`,
    host === null ? undefined : `on ${host}`,
    code === null ? undefined : `exit code ${code}`,
    signal === null ? undefined : `signal ${signal}`,
  ];
  return parts.filter(Boolean).join(", ").replace(", on ", " on ");
}

/** How the same run is made again: imported runs, and trials of a search, get no further attempt. */
function againWords({ host, rung }: RunView): string {
  return host.startsWith("~") || rung !== null ? "clone the experiment" : "retry the run";
}

/** What to try, by the kind of failure. */
function adviceFor(step: TransitionView, run: RunView): string {
  const { cluster, host } = run;
  const why = step.why;
  if (step.state === "timed_out")
    return why.includes("wall limit")
      ? "Measured data is kept. Clone the experiment with a longer wall limit, or with none."
      : `Measured data is kept. To go on from the latest checkpoint, ${againWords(run)}.`;
  if (/DataMissing/.test(why))
    return `The workload's data is not on ${host}. Put the files where the message says, then ${againWords(run)}.`;
  if (step.exit_code === DIVERGED)
    return "Training diverged. Try a smaller learning rate or moving rate, clipping, or let tuning choose the setting.";
  if (/MemoryError|out of memory|OutOfMemory/i.test(why) || step.signal === 9)
    return "A killed process has often used too much memory. Try fewer workers or a smaller batch, and see the system log of the host.";
  if (step.state === "failed_user")
    return "The algorithm, the workload or their parameters caused this error. Correct them, then clone the experiment.";
  return `The cluster ${cluster} failed, not the algorithm. See the log of mpirun and of the host, then ${againWords(run)}.`;
}
