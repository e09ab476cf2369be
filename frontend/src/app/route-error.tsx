import { Button } from "@mantine/core";
import { explain } from "@/lib/api/problem";
import { Message } from "@/lib/ui/message";
import { useTitle } from "@/lib/ui/use-title";

/** A fault in the dashboard itself, or a part of it that could not be loaded. */
export function RouteError({ error }: { error: unknown }) {
  useTitle("This page could not be shown");
  return (
    <Message
      page
      title="This page could not be shown"
      testId="route-error"
      action={<Button onClick={() => window.location.reload()}>Reload</Button>}
    >
      {explain(error)} If Hooke was just updated, reloading is enough.
    </Message>
  );
}
