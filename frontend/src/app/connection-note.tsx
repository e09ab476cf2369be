import { Tooltip } from "@mantine/core";
import { useConnection } from "@/lib/events/use-stream";
import styles from "./shell.module.css";

const WORDS = {
  connecting: ["connecting", "The event stream is being opened."],
  live: ["live", "This page is updated live."],
  reconnecting: [
    "reconnecting",
    "The server does not respond; the data shown may be out of date. Training is not affected.",
  ],
} as const;

/** Whether what is on screen is live. Its place is reserved, so nothing moves when the word changes. */
export function ConnectionNote() {
  const connection = useConnection();
  const [word, meaning] = WORDS[connection];
  return (
    <Tooltip label={meaning} multiline maw={260}>
      <span className={styles.connection} data-state={connection} data-testid="connection" role="status">
        <i />
        {word}
      </span>
    </Tooltip>
  );
}
