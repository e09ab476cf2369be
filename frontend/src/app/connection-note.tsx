import { Tooltip } from "@mantine/core";
import { useConnection } from "@/lib/events/use-stream";
import styles from "./shell.module.css";

const WORDS = {
  connecting: ["connecting", "The event stream is being opened."],
  live: ["live", "Everything on this page follows the server as it happens."],
  reconnecting: [
    "reconnecting",
    "The server does not answer; shown is what it said last. Training is not affected.",
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
