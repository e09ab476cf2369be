import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { signInMutation } from "@/lib/client/@tanstack/react-query.gen";
import { browser } from "@/lib/people/browser";
import { nextPage } from "@/lib/people/roles";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { useTitle } from "@/lib/ui/use-title";
import styles from "./people.module.css";
import { ProviderButton } from "./provider-button";
import { ProviderProblem } from "./provider-problem";
import { useProvider } from "./use-provider";

const route = getRouteApi("/sign-in");

/** Signs a user in with name and password, or through the provider. */
export function SignInScreen() {
  const { next, problem } = route.useSearch();
  const provider = useProvider(problem);
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const signIn = useMutation({ ...signInMutation(), onSuccess: () => browser.load(nextPage(next)) });
  useTitle("Sign in");
  return (
    <form
      className={styles.entrance}
      onSubmit={(event) => {
        event.preventDefault();
        signIn.mutate({ body: { name: name.trim(), password } });
      }}
    >
      <h1>Sign in to Hooke</h1>
      <ProviderProblem title="You are not signed in" problem={provider?.problem} />
      <TextInput
        label="Name"
        name="name"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={64}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-testid="name"
      />
      <PasswordInput
        label="Password"
        name="password"
        autoComplete="current-password"
        maxLength={256}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        data-testid="password"
      />
      {signIn.isError && <ErrorPanel what="You are not signed in:" error={signIn.error} />}
      <Button
        type="submit"
        disabled={name.trim() === "" || password === ""}
        loading={signIn.isPending || signIn.isSuccess}
        data-testid="sign-in"
      >
        Sign in
      </Button>
      {provider?.name && (
        <ProviderButton
          label={`Sign in with ${provider.name}`}
          start={{ next: nextPage(next), again: problem !== undefined }}
        />
      )}
      <p>
        An administrator adds users and resets passwords. On the server's host,{" "}
        <a href="/login">the start-up token</a> signs in as well.
      </p>
    </form>
  );
}
