import { useQueries } from "@tanstack/react-query";
import { readQueueOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { QueueView, WaitingView } from "@/lib/client/types.gen";
import { formatCount } from "@/lib/format/numbers";
import { formatSpan } from "@/lib/format/time";
import { placeOf, predicted } from "@/lib/queue/waiting-note";
import { useNow } from "@/lib/ui/use-now";
import styles from "./queue-note.module.css";

const AGAIN = 15_000;
/** As the server says of what nothing comes before. */
const NEXT = "next to start";

/** What a cluster is doing, and what waits for it: "2 experiments wait (6 runs), the last ends about 14:05". */
export function queueWords({ online, drained, active, entries }: QueueView, now: number): string {
  if (drained) return "drained: starts no runs";
  if (!online) return "offline: starts no runs until its agent is back";
  if (entries.length === 0) return active.length === 0 ? "queue empty" : "runs are active, queue empty";
  const runs = entries.reduce((sum, entry) => sum + entry.runs, 0);
  const who = entries.length === 1 ? "1 experiment waits" : `${entries.length} experiments wait`;
  const ends = entries.map((entry) => entry.ends);
  const last = ends.reduce((latest, end) => (latest && end && end.at > latest.at ? end : latest), ends[0]);
  const all = ends.every((end) => end !== null);
  const when = all && last ? `the last ends ${formatSpan(last, now)}` : "end unknown";
  return `${who} (${formatCount(runs)} ${runs === 1 ? "run" : "runs"}), ${when}`;
}

/** When the plan would start in a queue: "starts about 14:05 (14:00 to 14:20), 3rd in queue". */
export function startWords(waiting: WaitingView, now: number): string {
  if (waiting.reason.startsWith(NEXT)) return "starts at once";
  const place = placeOf({ position: 1, runs_ahead: waiting.experiments_ahead });
  const when = waiting.starts ? predicted({ starts: waiting.starts, ends: null }, now) : "start unknown";
  return waiting.experiments_ahead > 0 || !waiting.starts ? `${when}, ${place}` : when;
}

interface QueueNoteProps {
  hosts: readonly string[];
  /** What the plan would have before it, by host. */
  waiting: readonly WaitingView[];
}

/** When an experiment would start on the clusters that compute it, and their queues, before it is submitted. */
export function QueueNote({ hosts, waiting }: QueueNoteProps) {
  const now = useNow();
  const queues = useQueries({
    queries: hosts.map((name) => ({ ...readQueueOptions({ path: { name } }), refetchInterval: AGAIN })),
  });
  return (
    <ul className={styles.queues} data-testid="plan-queues">
      {hosts.map((name, i) => {
        const query = queues[i];
        const own = waiting.find(({ cluster }) => cluster === name);
        const words = query?.isError ? "its queue could not be loaded" : "…";
        return (
          <li key={name}>
            <strong>Queue</strong> of{" "}
            <a href={`/clusters/${encodeURIComponent(name)}/queue`} target="_blank" rel="noreferrer">
              {name}
            </a>
            : {own && `${startWords(own, now)}; `}
            {query?.data ? queueWords(query.data, now) : words}
          </li>
        );
      })}
    </ul>
  );
}
