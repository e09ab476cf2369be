import { Link } from "@tanstack/react-router";
import type { WaitingView } from "@/lib/client/types.gen";
import { ordinal } from "@/lib/format/ordinal";
import { formatSpan } from "@/lib/format/time";
import { useNow } from "@/lib/ui/use-now";
import styles from "./waiting.module.css";

/** When it is predicted to start and to end; nothing where it cannot be predicted. */
export function predicted({ starts, ends }: Pick<WaitingView, "starts" | "ends">, now: number): string {
  const parts = [starts && `starts ${formatSpan(starts, now)}`, ends && `ends ${formatSpan(ends, now)}`];
  return parts.filter(Boolean).join(", ");
}

const NEXT = "next to start";

/** Why it waits, with the place of its experiment: "2nd in queue, behind 1 experiment (3 runs)". */
export function reasonOf({ position, reason }: Pick<WaitingView, "position" | "reason">): string {
  if (position === 0) return reason;
  const why = reason === NEXT ? "waiting for a free core" : reason;
  return `${ordinal(position)} in queue, ${why}`;
}

/** The place of one run among all that wait for its cluster: "4th in queue"; of one that was sent, "2nd in turn". */
export function placeOf({
  position,
  runs_ahead: ahead,
}: Pick<WaitingView, "position" | "runs_ahead">): string {
  return `${ordinal(ahead + 1)} in ${position === 0 ? "turn" : "queue"}`;
}

/** Why something waits on each cluster, and until when; each leads to the queue of its cluster. */
export function WaitingNotes({ waiting }: { waiting: readonly WaitingView[] }) {
  const now = useNow();
  if (waiting.length === 0) return null;
  return (
    <ul className={styles.notes} data-testid="waiting">
      {waiting.map((each) => (
        <li key={each.cluster}>
          <Link to="/clusters/$clusterName/queue" params={{ clusterName: each.cluster }}>
            Waiting on {each.cluster}
          </Link>
          : {reasonOf(each)}
          <span className={styles.when}>{predicted(each, now) || "start and end unknown"}</span>
        </li>
      ))}
    </ul>
  );
}
