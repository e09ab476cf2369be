import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { faultsOf } from "@/lib/api/problem";
import { listExperiments } from "@/lib/client/sdk.gen";
import { useStream } from "@/lib/events/use-stream";
import { useThrottled } from "@/lib/events/use-throttled";
import { inProject } from "./search";

const PAGE = 30;

/** The experiments of a project, or of all, that fit a filter; those shown before stay until the next are there. */
export function useExperiments(typed: string | undefined, project: string | undefined) {
  const filter = inProject(typed, project);
  const query = useInfiniteQuery({
    queryKey: ["experiments", PAGE, filter ?? ""],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) => {
      const { data } = await listExperiments({
        query: { limit: PAGE, cursor: pageParam, filter },
        signal,
        throwOnError: true,
      });
      return data;
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });
  const refresh = useThrottled(() => void query.refetch(), 1500);
  useStream({}, (event) => {
    if (event.kind === "experiment" || event.kind === "run" || event.kind === "reset") refresh();
  });
  // a filter that cannot be read leaves the list as it was
  const shown = useRef(query.data);
  if (query.data) shown.current = query.data;
  const fault = filterFault(query.error);
  const data = query.data ?? (fault ? shown.current : undefined);
  return { query, fault, items: data?.pages.flatMap((page) => page.items) ?? [] };
}

/** What the server says of a filter that it cannot read. */
function filterFault(error: unknown): string | undefined {
  return faultsOf(error).find((fault) => fault.pointer === "query/filter")?.message;
}
