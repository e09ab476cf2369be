import type { EventStream } from "./event-stream";

/** Between two looks at the clock, and by how much it has jumped when the computer or the page has slept, ms. */
const LOOK = 1000;
const JUMP = 10_000;

/** Tell the stream when the network changes, when the page is seen again, and after a sleep; returns what ends it. */
export function followNetwork(stream: Pick<EventStream, "wake">): () => void {
  let looked = Date.now();
  const wake = () => {
    if (document.visibilityState === "visible") stream.wake();
  };
  const look = setInterval(() => {
    const before = looked;
    looked = Date.now();
    if (looked - before > JUMP) wake();
  }, LOOK);
  window.addEventListener("offline", wake);
  window.addEventListener("online", wake);
  document.addEventListener("visibilitychange", wake);
  document.addEventListener("resume", wake); // of a page that the browser had frozen
  return () => {
    clearInterval(look);
    window.removeEventListener("offline", wake);
    window.removeEventListener("online", wake);
    document.removeEventListener("visibilitychange", wake);
    document.removeEventListener("resume", wake);
  };
}
