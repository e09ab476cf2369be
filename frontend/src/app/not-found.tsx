import { LinkButton } from "@/lib/ui/link-button";
import { Message } from "@/lib/ui/message";

export function NotFound() {
  return (
    <Message
      page
      title="There is no such page"
      testId="not-found"
      action={<LinkButton to="/">To the experiments</LinkButton>}
    >
      The address may be mistyped, or belong to another instance of Hooke.
    </Message>
  );
}
