import { useSyncExternalStore } from "react";

let out = false;
const watchers = new Set<() => void>();

/** The server refused this browser (401), or answered it again. */
export function signedOut(value = true): void {
  if (out === value) return;
  out = value;
  for (const watcher of watchers) watcher();
}

/** Whether the server wants to know who this is. */
export function useSignedOut(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => out,
  );
}
