import type { Source } from "./event-stream";
import { SharedSource } from "./shared-source";

/** How a tab gets its event stream: through the worker that all tabs share, or by itself where there is none. */
export function sourceOpener(): (url: string) => Source {
  if (typeof SharedWorker === "undefined") return (url) => new EventSource(url);
  const worker = new SharedWorker(new URL("./stream-worker.ts", import.meta.url), {
    type: "module",
    name: "hooke-events",
  });
  const { port } = worker;
  let current: SharedSource | undefined;
  // a page that is left tells so: nobody else would notice
  window.addEventListener("pagehide", () => current?.close());
  let broken = false;
  const drop = () => {
    current?.close();
    current?.onerror?.(new Event("error")); // it comes back by itself
  };
  worker.onerror = () => {
    broken = true; // the worker could not be loaded: this tab does without
    drop();
  };
  window.addEventListener("pageshow", ({ persisted }) => {
    if (persisted) drop();
  });
  return (url) => {
    if (broken) return new EventSource(url);
    current = new SharedSource(port, url);
    return current;
  };
}
