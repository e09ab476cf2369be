import { useStream } from "@/lib/events/use-stream";
import { useMe, useRefusal } from "@/lib/people/use-me";
import { Message } from "@/lib/ui/message";
import screen from "@/lib/ui/screen.module.css";
import { useTitle } from "@/lib/ui/use-title";
import { ProjectsPart } from "./projects-part";
import { TokensPart } from "./tokens-part";
import { TrailPart } from "./trail-part";
import { UsersPart } from "./users-part";
import { WebhooksPart } from "./webhooks-part";

/** Users, tokens, webhooks and the audit trail, for administrators. */
export function AdministrationScreen() {
  const me = useMe();
  const why = useRefusal("admin");
  useStream({}, () => undefined); // so that the header can say whether the server answers
  useTitle("Administration");
  if (!me) return null;
  if (why !== undefined) {
    return (
      <Message page title="Administration" testId="not-admin">
        {why}
      </Message>
    );
  }
  return (
    <>
      <h1 className={screen.title}>Administration</h1>
      <p className={screen.intro}>
        {me.users
          ? "Users sign in with a name and a password; the start-up token keeps an administrator's rights. "
          : "There are no users yet. After the first one is added, browsers have to sign in; the start-up token keeps an administrator's rights. "}
        Every change is recorded in the audit trail.
      </p>
      <UsersPart me={me} />
      <ProjectsPart users={me.users} />
      <TokensPart me={me} all />
      <WebhooksPart />
      <TrailPart />
    </>
  );
}
