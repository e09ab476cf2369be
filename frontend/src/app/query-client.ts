import {
  type InvalidateOptions,
  type InvalidateQueryFilters,
  type Query,
  QueryCache,
  QueryClient,
  type QueryKey,
} from "@tanstack/react-query";
import { withPatience } from "@/lib/api/patience";
import { statusOf, worthRetrying } from "@/lib/api/problem";
import { client } from "@/lib/client/client.gen";
import { signedOut } from "./session";

client.setConfig({ baseUrl: "", fetch: withPatience() }); // the server that served this page

/**
 * Keep what a query without data has failed with while it is asked again, as long as somebody shows it: it would forget
 * that, and what says so would be gone with every event until the same answer comes.
 */
function keepFaults(queries: QueryCache): void {
  const faults = new WeakMap<Query, Error>();
  queries.subscribe(({ query, type }) => {
    const before = faults.get(query);
    const { error, status } = query.state;
    if (!query.isActive()) faults.delete(query);
    else if (type !== "updated") return;
    else if (error) faults.set(query, error);
    else if (before && status === "pending") query.setState({ status: "error", error: before });
  });
}

/** As the library's, which leaves a first load that is on its way alone, although its answer may lack what has just changed. */
class Queries extends QueryClient {
  override async invalidateQueries<Key extends QueryKey>(
    filters?: InvalidateQueryFilters<Key>,
    options?: InvalidateOptions,
  ): Promise<void> {
    if (options?.cancelRefetch !== false && filters?.refetchType !== "none") {
      const loads = this.getQueryCache().findAll({ ...filters, fetchStatus: "fetching" } as object);
      const first = loads.filter((query) => query.state.data === undefined && query.isActive());
      await Promise.all(first.map((query) => query.cancel({ revert: true, silent: true })));
    }
    return super.invalidateQueries(filters, options);
  }
}

/** What every query does: retry what may pass, keep what the stream has not called stale, notice a 401. */
export function makeQueryClient(): QueryClient {
  const queryCache = new QueryCache({
    onError: (error) => {
      if (statusOf(error) === 401) signedOut();
    },
    onSuccess: () => signedOut(false),
  });
  keepFaults(queryCache);
  return new Queries({
    queryCache,
    defaultOptions: {
      queries: {
        networkMode: "always", // without a network, the server may still be on this computer
        retry: worthRetrying,
        retryDelay: (failures) => Math.min(8000, 500 * 2 ** failures),
        staleTime: 5000, // the event stream says when something changed
        refetchOnWindowFocus: true,
      },
      mutations: { retry: false, networkMode: "always" },
    },
  });
}
