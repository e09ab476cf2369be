import type { MouseEvent } from "react";
import type { SavedView } from "@/lib/client/types.gen";
import { useShow } from "./use-views";
import styles from "./views.module.css";

/** Whether a click asks the browser for another tab or window. */
export function asksForAnother(event: MouseEvent): boolean {
  return event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
}

/** A view by its name; `opened` follows. */
export function ViewLink({ view, opened }: { view: SavedView; opened: () => void }) {
  const show = useShow();
  return (
    <a
      href={view.path}
      className={styles.name}
      onClick={(event) => {
        if (asksForAnother(event)) return;
        event.preventDefault();
        show(view.path);
        opened();
      }}
    >
      {view.name}
    </a>
  );
}
