import { useQuery, useQueryClient } from "@tanstack/react-query";
import { readLogs } from "@/lib/client/sdk.gen";
import type { LogLineView } from "@/lib/client/types.gen";
import { useStream } from "@/lib/events/use-stream";
import { useThrottled } from "@/lib/events/use-throttled";

/** More lines than this are cut from the front: a browser is no log archive. */
export const KEPT = 5000;
const PAGE = 1000;

interface Tail {
  lines: LogLineView[];
  after: number;
  cut: number;
}

/** Read on from a tail until there is no more. */
async function readOn(id: string, rank: number | undefined, tail: Tail, signal: AbortSignal): Promise<Tail> {
  let { lines, after, cut } = tail;
  for (;;) {
    const { data } = await readLogs({
      path: { run_id: id },
      query: { after, limit: PAGE, rank },
      signal,
      throwOnError: true,
    });
    lines = [...lines, ...data.lines];
    after = data.next_after;
    if (lines.length > KEPT) {
      cut += lines.length - KEPT;
      lines = lines.slice(-KEPT);
    }
    if (!data.more || data.lines.length === 0) return { lines, after, cut };
  }
}

/** The log of a run as it grows: each fetch asks only for what came after the last line. */
export function useLogs(id: string, rank: number | undefined) {
  const client = useQueryClient();
  const queryKey = ["logs", id, rank ?? "all"];
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      readOn(id, rank, client.getQueryData<Tail>(queryKey) ?? { lines: [], after: 0, cut: 0 }, signal),
    structuralSharing: false,
  });
  const refresh = useThrottled(() => query.refetch({ cancelRefetch: false }), 400);
  useStream({ run: id }, (event) => {
    if (event.kind === "logs" || event.kind === "reset") refresh();
  });
  return query;
}
