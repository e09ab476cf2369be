import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { compareRowsOptions, listExperimentsOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { ComparedRows } from "@/lib/client/types.gen";
import { useRefresh } from "@/lib/events/use-refresh";
import { useStream } from "@/lib/events/use-stream";

/** The newest so many experiments can be chosen from the list. */
export const LISTED = 200;
const REFRESH_MS = 2000;

/** The chosen rows; while others are fetched, those before stay. They follow the runs of their experiments. */
export function useCompared(rows: readonly string[], against: string | undefined) {
  const options = compareRowsOptions({ query: { rows: [...rows], against } });
  const query = useQuery({ ...options, enabled: rows.length > 0, placeholderData: keepPreviousData });
  const data: ComparedRows | undefined = rows.length > 0 ? query.data : undefined;
  const shown = new Set(data?.experiments.map(({ id }) => id));
  const refresh = useRefresh(options.queryKey, REFRESH_MS);
  useStream({}, (event) => {
    const id = event.kind === "experiment" ? event.id : event.kind === "run" ? event.experiment : undefined;
    if (event.kind === "reset" || (id !== undefined && shown.has(id))) refresh();
  });
  return { ...query, data };
}

export function useListed() {
  return useQuery(listExperimentsOptions({ query: { limit: LISTED } }));
}
