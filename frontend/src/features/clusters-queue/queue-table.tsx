import { Link } from "@tanstack/react-router";
import type { QueueEntryView } from "@/lib/client/types.gen";
import { formatSeconds, formatSpan } from "@/lib/format/time";
import { Allowed } from "@/lib/people/allowed";
import { PriorityControl } from "@/lib/queue/priority-control";
import { sentenceOf } from "@/lib/queue/waiting-note";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { useNow } from "@/lib/ui/use-now";
import styles from "./queue.module.css";

const COLUMNS = ["Position", "Experiment", "User", "Runs", "Takes", "Starts", "Ends", "Priority"];
const NUMBERS = new Set(["Position", "Runs", "Takes"]);

/** What waits on a cluster, in the order in which it will be served. */
export function QueueTable({
  entries,
  active,
  changed,
}: {
  entries: readonly QueueEntryView[];
  /** Whether an experiment occupies the cluster. */
  active: boolean;
  changed: () => void;
}) {
  if (entries.length === 0)
    return <p className={styles.quiet}>{active ? "No other experiment waits." : "No experiment waits."}</p>;
  return (
    <TableRegion label="Waiting experiments">
      <table className={ui.table} data-testid="queue-table">
        <thead>
          <tr>
            {COLUMNS.map((name) => (
              <th
                key={name}
                scope="col"
                data-number={NUMBERS.has(name) || undefined}
                className={NUMBERS.has(name) ? ui.number : undefined}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <Row key={entry.experiment} entry={entry} changed={changed} />
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}

function Row({ entry, changed }: { entry: QueueEntryView; changed: () => void }) {
  const now = useNow();
  const took = entry.run_seconds === null ? "unknown" : `about ${formatSeconds(entry.run_seconds)}`;
  return (
    <tr data-testid="queue-row">
      <td className={ui.number}>{entry.position}</td>
      <td className={styles.named}>
        <Link to="/experiments/$experimentId" params={{ experimentId: entry.experiment }}>
          #{entry.number} <bdi>{entry.name}</bdi>
        </Link>
        {entry.begun && <span className={styles.quiet}> has begun</span>}
        <span className={styles.reason}>{sentenceOf(entry.reason, now)}</span>
      </td>
      <td>{entry.user}</td>
      <td className={ui.number}>{entry.runs}</td>
      <td
        className={ui.number}
        title={entry.likeness ? `Predicted from ${entry.likeness}.` : "No similar run yet."}
      >
        {took}
      </td>
      <td className={styles.when}>{entry.starts ? formatSpan(entry.starts, now) : "unknown"}</td>
      <td className={styles.when}>{entry.ends ? formatSpan(entry.ends, now) : "unknown"}</td>
      <td>
        <Allowed least="researcher" of={entry.user}>
          <PriorityControl
            experiment={entry.experiment}
            priority={entry.priority}
            label={`Priority of experiment ${entry.number}`}
            onChanged={changed}
          />
        </Allowed>
      </td>
    </tr>
  );
}
