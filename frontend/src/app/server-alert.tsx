import { Alert } from "@mantine/core";
import screen from "@/lib/ui/screen.module.css";

/** A note as a sentence; some end as one. */
function sentence(note: string): string {
  return `${note.charAt(0).toUpperCase()}${note.slice(1).replace(/\.+$/, "")}.`;
}

/** What the server says of itself, above every page. */
export function ServerAlert({ notes }: { notes: readonly string[] }) {
  return (
    <Alert className={screen.warning} mb={20} role="status" data-testid="server-note">
      {notes.map((note) => (
        <div key={note}>{sentence(note)}</div>
      ))}
    </Alert>
  );
}
