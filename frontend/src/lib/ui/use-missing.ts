import { useState } from "react";
import { statusOf } from "@/lib/api/problem";

/**
 * Whether the server does not know what a query asks for; `what`: its name or id.
 *
 * A query without data forgets its error while it is fetched again: until it ends, the last answer stands.
 */
export function useMissing(query: { error: unknown; isPending: boolean }, what: string): boolean {
  const [last, setLast] = useState<string>();
  const missing = query.isPending ? last === what : statusOf(query.error) === 404;
  if (missing !== (last === what)) setLast(missing ? what : undefined);
  return missing;
}
