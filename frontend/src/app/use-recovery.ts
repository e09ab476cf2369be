import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useContext, useEffect } from "react";
import type { EventStream } from "@/lib/events/event-stream";
import { followNetwork } from "@/lib/events/follow-network";
import { StreamContext } from "@/lib/events/use-stream";

/** Ask again, as soon as the server is back, for what could not be loaded while it was away, and what it never answered. */
function askAgain(stream: EventStream, queries: QueryClient): () => void {
  let away = false;
  return stream.watch(() => {
    const now = stream.connection();
    if (now !== "live") {
      away ||= now !== "connecting";
      return;
    }
    const asked = queries.getQueryCache().findAll({ type: "active", fetchStatus: "fetching" });
    const unanswered = new Set(away ? asked : []);
    away = false;
    void Promise.all([...unanswered].map((query) => query.cancel({ revert: true, silent: true }))).then(() =>
      queries.refetchQueries({
        type: "active",
        predicate: (query) => query.state.status === "error" || unanswered.has(query),
      }),
    );
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
