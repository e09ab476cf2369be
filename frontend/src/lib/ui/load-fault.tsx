import { ErrorPanel } from "./error-panel";

/** What a query tells of what could not be loaded. */
interface Loaded {
  readonly isError: boolean;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

/** Says that something could not be loaded, and offers to try again. Whatever loads uses it. */
export function LoadFault({ what, query }: { what: string; query: Loaded }) {
  return query.isError && <ErrorPanel what={what} error={query.error} retry={() => query.refetch()} />;
}
