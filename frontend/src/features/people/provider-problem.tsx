import { Alert } from "@mantine/core";

/** Says why the provider did not sign a person in, in the server's words. */
export function ProviderProblem({ title, problem }: { title: string; problem: string | null | undefined }) {
  if (!problem) return null;
  return (
    <Alert color="yellow.8" variant="light" title={title} role="alert" data-testid="provider-problem">
      {problem}
    </Alert>
  );
}
