import { Link } from "@tanstack/react-router";
import type { WaitingView } from "@/lib/client/types.gen";
import { ordinal } from "@/lib/format/ordinal";
import { formatSpan, withLocalTimes } from "@/lib/format/time";
import { useNow } from "@/lib/ui/use-now";
import styles from "./waiting.module.css";

/** When it is predicted to start and to end; nothing where it cannot be predicted. */
export function predicted({ starts, ends }: Pick<WaitingView, "starts" | "ends">, now: number): string {
  const parts = [starts && `starts ${formatSpan(starts, now)}`, ends && `ends ${formatSpan(ends, now)}`];
  return parts.filter(Boolean).join(", ");
}

const NEXT = "next to start";

/** A reason of the server as a sentence begins, with its times in the reader's time zone. */
export function sentenceOf(reason: string, now: number): string {
  const why = reason.startsWith(NEXT) ? reason.replace(NEXT, "waiting for a free core") : reason;
  return withLocalTimes(why.charAt(0).toUpperCase() + why.slice(1), now);
}

/** Why it waits, with the place of its experiment: "Waiting for a free core (4th in queue)". */
export function reasonOf(
  { position, reason }: Pick<WaitingView, "position" | "reason">,
  now = Date.now(),
): string {
  const why = sentenceOf(reason, now);
  if (position === 0) return why;
  const place = `${ordinal(position)} in queue`;
  return why.endsWith(")") ? `${why}, ${place}` : `${why} (${place})`;
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
            {each.cluster}
          </Link>
          {" · "}
          {reasonOf(each, now)}
          <span className={styles.when}>{predicted(each, now) || "start and end unknown"}</span>
        </li>
      ))}
    </ul>
  );
}
