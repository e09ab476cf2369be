import { Skeleton } from "@mantine/core";
import { useConnection } from "@/lib/events/use-stream";
import { Message } from "@/lib/ui/message";

/** In place of a page that is being loaded. */
export function Pending() {
  const connection = useConnection();
  if (connection === "reconnecting" || connection === "offline") {
    return (
      <Message page title="The server does not respond" testId="pending">
        This page opens as soon as it responds again. Training is not affected.
      </Message>
    );
  }
  return (
    <div aria-busy="true" data-testid="pending">
      <Skeleton height={28} width={260} />
      <Skeleton height={220} mt={44} />
    </div>
  );
}
