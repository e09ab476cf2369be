import { Button, PasswordInput, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { changePasswordMutation, listIdentitiesOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { Me } from "@/lib/client/types.gen";
import { useStream } from "@/lib/events/use-stream";
import { MEANINGS } from "@/lib/people/roles";
import { useMe } from "@/lib/people/use-me";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LoadFault } from "@/lib/ui/load-fault";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { useTitle } from "@/lib/ui/use-title";
import { IdentitiesPart } from "./identities-part";
import { complete } from "./new-password";
import { NewPasswordFields } from "./new-password-fields";
import styles from "./people.module.css";
import { TokensPart } from "./tokens-part";

const route = getRouteApi("/account");

/** One's own password, accounts at a provider, and tokens. */
export function AccountScreen() {
  const me = useMe();
  useStream({}, () => undefined); // so that the header can say whether the server answers
  useTitle("Account");
  if (!me) return null;
  return (
    <>
      <h1 className={screen.title}>{me.name}</h1>
      <p className={screen.intro}>
        Role {me.role}: {MEANINGS[me.role]}
        {me.role !== "viewer" && ", and everything the lower roles allow"}.
      </p>
      {me.is_user && me.credential === "session" ? <WaysIn /> : <OwnerNote me={me} />}
      <TokensPart me={me} all={false} />
    </>
  );
}

function WaysIn() {
  const { problem } = route.useSearch();
  const query = useQuery(listIdentitiesOptions());
  return (
    <>
      {(query.isError || query.data?.has_password) && <PasswordPart />}
      <LoadFault what="Your accounts could not be loaded." query={query} />
      {query.data && <IdentitiesPart list={query.data} problem={problem} />}
    </>
  );
}

function OwnerNote({ me }: { me: Me }) {
  return (
    <p className={screen.intro} data-testid="owner-note">
      {me.name} is signed in with the {me.credential}: there is no password to change.
    </p>
  );
}

function PasswordPart() {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const [repeated, setRepeated] = useState("");
  const change = useMutation({
    ...changePasswordMutation(),
    onSuccess: () => {
      setCurrent("");
      setPassword("");
      setRepeated("");
    },
  });
  return (
    <Section title="Password" testId="password-part">
      <form
        className={styles.narrow}
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate({ body: { current, password } });
        }}
      >
        <PasswordInput
          label="Current password"
          autoComplete="current-password"
          maxLength={256}
          value={current}
          onChange={(event) => setCurrent(event.currentTarget.value)}
          data-testid="current-password"
        />
        <NewPasswordFields
          password={password}
          repeated={repeated}
          onPassword={setPassword}
          onRepeated={setRepeated}
        />
        <Button
          type="submit"
          disabled={current === "" || !complete(password, repeated)}
          loading={change.isPending}
          data-testid="change-password"
        >
          Change password
        </Button>
        {change.isError && <ErrorPanel what="The password could not be changed." error={change.error} />}
        {change.isSuccess && (
          <Text size="sm" role="status">
            Password changed. Your sessions in other browsers have ended.
          </Text>
        )}
      </form>
    </Section>
  );
}
