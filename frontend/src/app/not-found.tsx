import { LinkButton } from "@/lib/ui/link-button";
import { Message } from "@/lib/ui/message";
import { useTitle } from "@/lib/ui/use-title";

export function NotFound() {
  useTitle("Page not found");
  return (
    <Message
      page
      title="Page not found"
      testId="not-found"
      action={<LinkButton to="/">All experiments</LinkButton>}
    >
      The address may be mistyped, or belong to another instance of Hooke.
    </Message>
  );
}
