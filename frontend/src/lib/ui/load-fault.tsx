import { useState } from "react";
import { ErrorPanel } from "./error-panel";

/** What a query tells of what could not be loaded. */
interface Loaded {
  readonly isError: boolean;
  readonly error: unknown;
  readonly isFetching?: boolean;
  readonly refetch: () => unknown;
}

/**
 * Says that something could not be loaded, and offers to try again, which shows at the button: the panel stays until
 * there is another answer. Whatever loads uses it.
 */
export function LoadFault({ what, query }: { what: string; query: Loaded }) {
  const [pressed, setPressed] = useState(false);
  const retry = () => {
    setPressed(true);
    query.refetch();
  };
  return (
    query.isError && (
      <ErrorPanel what={what} error={query.error} retry={retry} busy={pressed && query.isFetching} />
    )
  );
}
