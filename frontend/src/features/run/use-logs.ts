import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { readLogs } from "@/lib/client/sdk.gen";
import type { LogLineView } from "@/lib/client/types.gen";
import { useRefresh } from "@/lib/events/use-refresh";
import { useStream } from "@/lib/events/use-stream";
import { appended, EMPTY, older, PAGE, type Tail, withOlder } from "./log-tail";

interface Place {
  readonly id: string;
  readonly rank: number | undefined;
}

async function page({ id, rank }: Place, after: number, signal?: AbortSignal) {
  const query = { after, limit: PAGE, rank };
  return (await readLogs({ path: { run_id: id }, query, signal, throwOnError: true })).data;
}

/** Read on from a tail until there is no more. */
async function readOn(place: Place, from: Tail, signal: AbortSignal): Promise<Tail> {
  let tail = from;
  for (;;) {
    const data = await page(place, tail.after, signal);
    tail = appended(tail, data.lines, data.next_after);
    if (!data.more || data.lines.length === 0) return tail;
  }
}

/** The log of a run as it grows: each fetch asks only for what came after the last line. */
export function useLogs(id: string, rank: number | undefined) {
  const client = useQueryClient();
  const place = { id, rank };
  const ofRun = ["logs", id];
  const queryKey = [...ofRun, rank ?? "all"];
  const known = () => client.getQueryData<Tail>(queryKey) ?? EMPTY;
  const query = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const from = known();
      const found = await readOn(place, from, signal);
      const now = known(); // an older block may have come meanwhile
      const isNew = ({ position }: LogLineView) => position > now.after;
      return now === from ? found : appended(now, found.lines.filter(isNew), found.after);
    },
    structuralSharing: false,
  });
  const refresh = useRefresh(ofRun, 400);
  useStream({ run: id }, (event) => {
    if (event.kind === "logs" || event.kind === "reset") refresh();
  });
  const back = useMutation({
    /** Reads older blocks until one has a line that is wanted, or there is no more; the lines of the last one. */
    mutationFn: async (isWanted: (lines: readonly LogLineView[]) => boolean) => {
      for (;;) {
        const block = older(known());
        if (!block) return [];
        const data = await page(place, block.after);
        const first = known().lines[0]?.position ?? 0;
        const lines = data.lines.filter(({ position }) => position < first);
        client.setQueryData<Tail>(queryKey, (now = EMPTY) => withOlder(now, block, lines));
        if (isWanted(lines)) return lines;
      }
    },
  });
  return { query, back };
}

export type Back = ReturnType<typeof useLogs>["back"];
