import { Alert } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { readyz } from "@/lib/client/sdk.gen";
import type { Ready } from "@/lib/client/types.gen";
import styles from "./shell.module.css";

const LOOK = 60_000;

function isReady(told: unknown): told is Ready {
  return typeof told === "object" && told !== null && "reasons" in told && "warnings" in told;
}

/** What the server says of itself: what does not work, and what will not if nothing is done. */
function useServerNotes(): readonly string[] {
  const query = useQuery({
    queryKey: ["readyz"],
    queryFn: async ({ signal }) => {
      const { data, error } = await readyz({ signal }); // 503 is an answer, too
      const told: unknown = data ?? error;
      return isReady(told) ? [...told.reasons, ...told.warnings] : [];
    },
    refetchInterval: LOOK,
    retry: false,
  });
  return query.data ?? [];
}

/** A note as a sentence; some end as one. */
function sentence(note: string): string {
  return `${note.charAt(0).toUpperCase()}${note.slice(1).replace(/\.+$/, "")}.`;
}

export function ServerNote() {
  const notes = useServerNotes();
  if (notes.length === 0) return null;
  return (
    <Alert className={styles.serverNote} mb={20} role="status" data-testid="server-note">
      {notes.map((note) => (
        <div key={note}>{sentence(note)}</div>
      ))}
    </Alert>
  );
}
