import { LinkButton } from "./link-button";
import { Message } from "./message";

/** In place of a page about a cluster that the server does not know. */
export function ClusterMissing({ name }: { name: string }) {
  return (
    <Message
      page
      title="Cluster not found"
      testId="not-found"
      action={<LinkButton to="/clusters">All clusters</LinkButton>}
    >
      No cluster is called {name}. Its agent may not have reported yet.
    </Message>
  );
}
