import { Code } from "@mantine/core";
import { Message } from "@/lib/ui/message";

/** What the page says where the server answered 401. */
export function SignedOut() {
  return (
    <Message page title="This browser is not signed in" testId="signed-out">
      Open the address that <Code>hooke up</Code> printed when it started: it ends in{" "}
      <Code>/login?token=…</Code> and signs this browser in. Or <a href="/login">paste the token</a>. If you
      have a name and a password, <a href="/sign-in">sign in with them</a>.
    </Message>
  );
}
