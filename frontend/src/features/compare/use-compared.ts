import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import {
  compareRowsOptions,
  listExperimentsOptions,
  listExperimentsQueryKey,
} from "@/lib/client/@tanstack/react-query.gen";
import type { ComparedRows } from "@/lib/client/types.gen";
import { useRefresh } from "@/lib/events/use-refresh";
import { useStream } from "@/lib/events/use-stream";
import { nameFilter } from "@/lib/keeping/name-filter";

/** So many experiments are offered at once. */
const LISTED = 50;
/** Pause after the last key before experiments are searched, ms. */
const PAUSE = 200;
/** What only a filter has. */
const COMPARES = /[=~<>]/;
const REFRESH_MS = 2000;
const LIST_REFRESH_MS = 4000;

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

/** The newest experiments that fit what was typed: a name, a number, or a filter as in the list of experiments. Their names are live. */
export function useListed(typed: string) {
  const words = typed.trim();
  const [settled] = useDebouncedValue(words, PAUSE);
  const filter = COMPARES.test(settled) ? settled : nameFilter(settled);
  const query = useQuery({
    ...listExperimentsOptions({ query: { limit: LISTED, filter } }),
    placeholderData: keepPreviousData,
  });
  const refresh = useRefresh(listExperimentsQueryKey(), LIST_REFRESH_MS);
  useStream({}, ({ kind }) => {
    if (kind === "experiment" || kind === "reset") refresh();
  });
  return { ...query, searching: words !== settled || query.isPending || query.isPlaceholderData };
}
