import type { RunState } from "@/lib/client/types.gen";

export type Tone = "quiet" | "live" | "done" | "good" | "bad" | "warn" | "off";

interface Look {
  readonly label: string;
  readonly tone: Tone;
  readonly meaning: string;
}

const LOOKS: Record<RunState, Look> = {
  queued: { label: "waiting", tone: "quiet", meaning: "Waits in the queue of its cluster." },
  dispatched: {
    label: "waiting",
    tone: "quiet",
    meaning: "Sent to its cluster; waits for earlier runs.",
  },
  starting: { label: "starting", tone: "live", meaning: "Its processes are being started." },
  running: { label: "running", tone: "live", meaning: "Every rank is taking steps." },
  lost: {
    label: "lost contact",
    tone: "warn",
    meaning: "No report for a while; it may still be running.",
  },
  succeeded: {
    label: "finished",
    tone: "done",
    meaning: "It met its target or used its budget, and every rank ended normally.",
  },
  failed_user: {
    label: "failed: code",
    tone: "bad",
    meaning: "The algorithm, workload or specification caused an error.",
  },
  failed_infra: {
    label: "failed: infrastructure",
    tone: "bad",
    meaning: "A rank, mpirun, a host or a disk died.",
  },
  cancelled: {
    label: "cancelled",
    tone: "off",
    meaning: "Cancelled on request; all of its processes have ended.",
  },
  timed_out: { label: "timed out", tone: "warn", meaning: "The wall limit was reached." },
};

/** The order in which a progress bar stacks runs: what is finished first. */
export const STATE_ORDER: readonly RunState[] = [
  "succeeded",
  "timed_out",
  "failed_user",
  "failed_infra",
  "cancelled",
  "running",
  "starting",
  "lost",
  "dispatched",
  "queued",
];

const TERMINAL: ReadonlySet<string> = new Set([
  "succeeded",
  "failed_user",
  "failed_infra",
  "cancelled",
  "timed_out",
  "failed",
]);

export function isTerminal(state: string): boolean {
  return TERMINAL.has(state);
}

/** Look of a run's or an experiment's state; an unknown one is shown as it is. */
export function stateLook(state: string): Look {
  if (Object.hasOwn(LOOKS, state)) return LOOKS[state as RunState];
  return { label: state, tone: state === "failed" ? "bad" : "quiet", meaning: "" };
}

/** How many of an experiment's runs exist, and how many are over. */
export function progress(runs: Partial<Record<string, number>>): { done: number; all: number } {
  let done = 0;
  let all = 0;
  for (const [state, count] of Object.entries(runs)) {
    all += count ?? 0;
    if (isTerminal(state)) done += count ?? 0;
  }
  return { done, all };
}

/** What came of a run that finished, which its state does not say. */
export function outcomeOf(
  run: { state: string; time_to_target: number | null },
  hasTarget: boolean,
): { label: string; tone: Tone } | undefined {
  if (!hasTarget || run.state !== "succeeded") return undefined;
  return run.time_to_target === null
    ? { label: "target not reached", tone: "warn" }
    : { label: "target reached", tone: "good" };
}
