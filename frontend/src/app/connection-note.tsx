import { useConnection, useKeptStream, useLastHeard } from "@/lib/events/use-stream";
import { formatAge } from "@/lib/format/time";
import { useHint } from "@/lib/ui/use-hint";
import { useNow } from "@/lib/ui/use-now";
import styles from "./shell.module.css";

const AWAY = "The data shown may be out of date. This page reconnects by itself; training is not affected.";
const MEANINGS = {
  connecting: "Connecting to the server.",
  live: "This page updates live.",
  reconnecting: `The server does not respond. ${AWAY}`,
  offline: `This computer has no network. ${AWAY}`,
} as const;

/** Whether what is on screen is live. Its place is reserved, so nothing moves when the word changes. */
export function ConnectionNote() {
  useKeptStream();
  const connection = useConnection();
  const away = connection === "reconnecting" || connection === "offline";
  const [about, note] = useHint<HTMLSpanElement>(MEANINGS[connection]);
  return (
    <>
      <span {...about} className={styles.connection} data-state={connection} data-testid="connection">
        <i />
        <span className={styles.connectionWord}>
          <span role="status">{connection}</span>
          {away && <LastUpdate />}
        </span>
      </span>
      {note}
    </>
  );
}

function LastUpdate() {
  const heard = useLastHeard();
  const now = useNow(1000);
  if (heard === undefined) return null;
  return (
    <span className={styles.lastUpdate}>last update {formatAge(new Date(heard).toISOString(), now)}</span>
  );
}
