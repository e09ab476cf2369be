import type { EventStream } from "./event-stream";

/** Tell the stream when the network changes and when the page is seen again; returns what ends it. */
export function followNetwork(stream: EventStream): () => void {
  const wake = () => {
    if (document.visibilityState === "visible") stream.wake();
  };
  window.addEventListener("offline", wake);
  window.addEventListener("online", wake);
  document.addEventListener("visibilitychange", wake);
  return () => {
    window.removeEventListener("offline", wake);
    window.removeEventListener("online", wake);
    document.removeEventListener("visibilitychange", wake);
  };
}
