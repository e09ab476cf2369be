import { createContext, useContext, useEffect, useEffectEvent, useSyncExternalStore } from "react";
import type { Connection, EventStream } from "./event-stream";
import type { StreamEvent } from "./stream-event";

export const StreamContext = createContext<EventStream | null>(null);

function useEventStream(): EventStream {
  const stream = useContext(StreamContext);
  if (!stream) throw new Error("No event stream: StreamContext must be provided above this component.");
  return stream;
}

/** Listen to the tab's event stream for as long as the component is shown. */
export function useStream(
  topic: { experiment?: string; run?: string },
  listener: (event: StreamEvent) => void,
): void {
  const stream = useEventStream();
  const { experiment, run } = topic;
  const receive = useEffectEvent(listener);
  useEffect(
    () => stream.subscribe({ experiment, run }, (event) => receive(event)),
    [stream, experiment, run],
  );
}

/** Be connected also on pages that listen to nothing, so that what is shown of the connection is true there. */
export function useKeptStream(): void {
  const stream = useEventStream();
  useEffect(() => stream.keep(), [stream]);
}

/** Whether the tab is live, and re-render when that changes. */
export function useConnection(): Connection {
  const stream = useEventStream();
  return useSyncExternalStore(
    (changed) => stream.watch(changed),
    () => stream.connection(),
  );
}

/** When the server last gave a sign, ms since 1970, as of this render. */
export function useLastHeard(): number | undefined {
  return useEventStream().lastHeard();
}
