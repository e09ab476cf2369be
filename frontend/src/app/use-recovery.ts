import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useContext, useEffect } from "react";
import type { EventStream } from "@/lib/events/event-stream";
import { followNetwork } from "@/lib/events/follow-network";
import { StreamContext } from "@/lib/events/use-stream";

/** Ask again for what could not be loaded while the server was away, as soon as it is back. */
function askAgain(stream: EventStream, queries: QueryClient): () => void {
  return stream.watch(() => {
    if (stream.connection() !== "live") return;
    void queries.refetchQueries({ type: "active", predicate: ({ state }) => state.status === "error" });
  });
}

/** Follow the network, and recover from an outage without a click. */
export function useRecovery(): void {
  const stream = useContext(StreamContext);
  const queries = useQueryClient();
  useEffect(() => {
    if (!stream) return;
    const ends = [followNetwork(stream), askAgain(stream, queries)];
    return () => {
      for (const end of ends) end();
    };
  }, [stream, queries]);
}
