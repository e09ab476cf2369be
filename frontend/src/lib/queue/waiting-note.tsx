import { Link } from "@tanstack/react-router";
import type { WaitingView } from "@/lib/client/types.gen";
import { formatSpan } from "@/lib/format/time";
import { useNow } from "@/lib/ui/use-now";
import styles from "./waiting.module.css";

/** When it is predicted to start and to end; nothing where it cannot be predicted. */
export function predicted({ starts, ends }: Pick<WaitingView, "starts" | "ends">, now: number): string {
  const parts = [starts && `starts ${formatSpan(starts, now)}`, ends && `ends ${formatSpan(ends, now)}`];
  return parts.filter(Boolean).join(", ");
}

/** "2nd in the queue: behind 1 experiment (3 runs)". */
export function reasonOf({ position, reason }: WaitingView): string {
  return position > 0 ? `position ${position}: ${reason}` : reason;
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
            Queue of {each.cluster}
          </Link>
          , {reasonOf(each)}
          <span className={styles.when}>{predicted(each, now) || "start and end unknown"}</span>
        </li>
      ))}
    </ul>
  );
}
