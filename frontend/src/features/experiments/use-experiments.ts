import { keepPreviousData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { faultsOf } from "@/lib/api/problem";
import { listExperiments } from "@/lib/client/sdk.gen";
import { useStream } from "@/lib/events/use-stream";
import { useThrottled } from "@/lib/events/use-throttled";
import { inProject } from "./search";

/** Experiments that are read at once, and the least ms from one reading to the next: of a list as the server orders it. */
const PARTLY = { page: 30, pause: 1500 };
/** Of one that is sorted here, for which all of them are read; and the most pages of it. */
const WHOLE = { page: 500, pause: 6000, pages: 10 };
/** Of any page size and filter. */
const LISTS = ["experiments"];

/**
 * The experiments of a project, or of all, that fit a filter; those shown before stay until the next are there.
 * `whole`: all of them, as many as are sorted at most.
 */
export function useExperiments(typed: string | undefined, project: string | undefined, whole: boolean) {
  const client = useQueryClient();
  const filter = inProject(typed, project);
  const { page, pause } = whole ? WHOLE : PARTLY;
  const query = useInfiniteQuery({
    queryKey: [...LISTS, page, filter ?? ""],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) => {
      const { data } = await listExperiments({
        query: { limit: page, cursor: pageParam, filter },
        signal,
        throwOnError: true,
      });
      return data;
    },
    getNextPageParam: ({ next_cursor }, pages) =>
      whole && pages.length >= WHOLE.pages ? undefined : (next_cursor ?? undefined),
    placeholderData: keepPreviousData,
  });
  const { data: read, hasNextPage, isFetching, isError, isPlaceholderData, fetchNextPage } = query;
  useEffect(() => {
    if (whole && hasNextPage && !isFetching && !isError && !isPlaceholderData) void fetchNextPage();
  }, [whole, hasNextPage, isFetching, isError, isPlaceholderData, fetchNextPage]);
  // what the server says of a filter would be gone while it is asked again, for the same answer
  const again = () => client.invalidateQueries({ queryKey: LISTS }, { cancelRefetch: false });
  const refresh = useThrottled(() => filterFault(query.error) ?? again(), pause);
  useStream({}, (event) => {
    if (event.kind === "experiment" || event.kind === "run" || event.kind === "reset") refresh();
  });
  // a filter that cannot be read leaves the list as it was
  const shown = useRef(read);
  if (read) shown.current = read;
  const fault = filterFault(query.error);
  const data = read ?? (fault ? shown.current : undefined);
  const items = useMemo(() => data?.pages.flatMap((each) => each.items) ?? [], [data]);
  /** The server has more than are sorted. */
  const cut = whole && !hasNextPage && typeof data?.pages.at(-1)?.next_cursor === "string";
  return { query, fault, items, cut };
}

/** What the server says of a filter that it cannot read. */
function filterFault(error: unknown): string | undefined {
  return faultsOf(error).find((fault) => fault.pointer === "query/filter")?.message;
}
