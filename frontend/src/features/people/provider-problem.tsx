import { Alert } from "@mantine/core";
import screen from "@/lib/ui/screen.module.css";
import styles from "./people.module.css";

/** Says why the provider did not sign a person in, in the server's words. */
export function ProviderProblem({ title, problem }: { title: string; problem: string | null | undefined }) {
  if (!problem) return null;
  return (
    <Alert
      className={`${screen.warning} ${styles.problem}`}
      title={title}
      role="alert"
      data-testid="provider-problem"
    >
      {problem}
    </Alert>
  );
}
