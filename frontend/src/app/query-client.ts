import {
  type InvalidateOptions,
  type InvalidateQueryFilters,
  type Query,
  QueryCache,
  QueryClient,
  type QueryClientConfig,
  type QueryKey,
} from "@tanstack/react-query";
import { withPatience } from "@/lib/api/patience";
import { statusOf, worthRetrying } from "@/lib/api/problem";
import { client } from "@/lib/client/client.gen";
import { signedOut } from "./session";

client.setConfig({ baseUrl: "", fetch: withPatience() }); // the server that served this page

/** How long an answer counts as new, ms. */
const USUAL = 5000;

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

/**
 * As the library's, but nothing that has changed is missed. The answer to a request that is on its way may lack what has just
 * changed: the library would take it for what is so now. Who has changed something begins a first load anew, instead of waiting
 * for it. An event lets it go on, or with many events there would never be an answer, and asks once more when it is there.
 */
class Queries extends QueryClient {
  /** What began to be asked for by what is being told of just now: its answer lacks nothing. */
  private readonly begun = new Set<Query>();

  constructor(options: QueryClientConfig) {
    super(options);
    this.getQueryCache().subscribe((event) => {
      const { query } = event;
      // nobody listens to events for what nobody shows: it is read again when it is shown again. What has another
      // stale time is told of by no event, and is valid for that time
      const left = event.type === "observerRemoved" && query.getObserversCount() === 0;
      if (left && event.observer.options.staleTime === USUAL) query.invalidate();
      if (event.type !== "updated" || event.action.type !== "fetch") return;
      this.begun.add(query);
      // the next page of a list takes the place of what an event has begun
      const instead = Boolean(event.action.meta?.fetchMore) && query.state.isInvalidated;
      queueMicrotask(() => {
        this.begun.delete(query);
        if (instead) void this.askOnceMore(new Set([query]));
      });
    });
  }

  override async invalidateQueries<Key extends QueryKey>(
    filters?: InvalidateQueryFilters<Key>,
    options?: InvalidateOptions,
  ): Promise<void> {
    const loads = this.getQueryCache().findAll({ ...filters, fetchStatus: "fetching" } as object);
    if (options?.cancelRefetch !== false && filters?.refetchType !== "none") {
      const first = loads.filter((query) => query.state.data === undefined && query.isActive());
      await Promise.all(first.map((query) => query.cancel({ revert: true, silent: true })));
      return super.invalidateQueries(filters, options);
    }
    const before = new Set(loads.filter((query) => !this.begun.has(query)));
    await Promise.all([super.invalidateQueries(filters, options), this.askOnceMore(before)]);
  }

  /** What is shown is asked for once more as soon as it has been answered, whatever else is on its way; all else when it is shown. */
  private async askOnceMore(before: ReadonlySet<Query>): Promise<void> {
    await Promise.all(
      [...before].map(async (query) => {
        await query.promise?.catch(() => undefined);
        query.invalidate(); // its answer has made it count as new
        await this.refetchQueries(
          { type: "active", predicate: (other) => other === query },
          { cancelRefetch: false },
        );
      }),
    );
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
        staleTime: USUAL, // the event stream says when something changed
        refetchOnWindowFocus: true,
      },
      mutations: { retry: false, networkMode: "always" },
    },
  });
}
