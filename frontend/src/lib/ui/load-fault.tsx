import { useState } from "react";
import { ErrorPanel } from "./error-panel";

/** What a query tells of what could not be loaded. */
interface Loaded {
  readonly isError: boolean;
  readonly error: unknown;
  readonly refetch: () => unknown;
  readonly isPending?: boolean;
  /** How often it has failed. */
  readonly errorUpdateCount?: number;
}

/**
 * Says that something could not be loaded, and offers to try again. Whatever loads uses it.
 *
 * A query without data forgets its error while it is asked again: until the answer is there, the last one stands.
 */
export function LoadFault({ what, query }: { what: string; query: Loaded }) {
  const [last, setLast] = useState<unknown>();
  const again = query.isPending === true && (query.errorUpdateCount ?? 0) > 0;
  const told = query.isError ? query.error : again ? last : undefined;
  if (told !== last) setLast(told);
  return told !== undefined && <ErrorPanel what={what} error={told} retry={() => query.refetch()} />;
}
