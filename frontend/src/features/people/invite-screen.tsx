import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { useState } from "react";
import { acceptInviteMutation } from "@/lib/client/@tanstack/react-query.gen";
import { browser } from "@/lib/people/browser";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { Message } from "@/lib/ui/message";
import { useTitle } from "@/lib/ui/use-title";
import { complete } from "./new-password";
import { NewPasswordFields } from "./new-password-fields";
import styles from "./people.module.css";
import { ProviderButton } from "./provider-button";
import { useProvider } from "./use-provider";

/** Sets the password of an invited user, or links their account at the provider. The secret stands behind `#`, so it is in no log of a server. */
export function InviteScreen() {
  const invite = useLocation().hash.replace(/^#/, "");
  const [password, setPassword] = useState("");
  const [repeated, setRepeated] = useState("");
  const provider = useProvider();
  const accept = useMutation({ ...acceptInviteMutation(), onSuccess: () => browser.load("/") });
  useTitle("Invitation");
  if (invite === "") {
    return (
      <Message page title="Invalid invitation" testId="no-invite">
        The address is incomplete: it continues after /invite. Open it as it was sent to you.
      </Message>
    );
  }
  return (
    <form
      className={styles.entrance}
      onSubmit={(event) => {
        event.preventDefault();
        accept.mutate({ body: { invite, password } });
      }}
    >
      <h1>Welcome to Hooke</h1>
      <p>Choose your password. This address works only once.</p>
      <NewPasswordFields
        password={password}
        repeated={repeated}
        onPassword={setPassword}
        onRepeated={setRepeated}
      />
      {accept.isError && <ErrorPanel what="The password could not be set." error={accept.error} />}
      <Button
        type="submit"
        disabled={!complete(password, repeated)}
        loading={accept.isPending || accept.isSuccess}
        data-testid="accept"
      >
        Set password and sign in
      </Button>
      {provider?.name && (
        <>
          <p>Or sign in with your account at {provider.name}, now and later, without a password here.</p>
          <ProviderButton label={`Accept with ${provider.name}`} start={{ invite }} />
        </>
      )}
    </form>
  );
}
