import { Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { RunView } from "@/lib/client/types.gen";
import { withCode } from "@/lib/ui/code";
import { LinkButton } from "@/lib/ui/link-button";
import { failureOf } from "./failure";
import own from "./failure.module.css";

/** Of a failed run first of all: what failed, where, and what to try; the traceback is folded away. So of one without time left. */
export function FailurePart({ run }: { run: RunView }) {
  const failure = failureOf(run);
  if (!failure) return null;
  const { cause, where, advice, quoted, rank } = failure;
  return (
    <section
      className={own.failure}
      aria-label={run.state === "timed_out" ? "Why it ended" : "Why it failed"}
      data-testid="failure"
    >
      <p className={own.cause}>{withCode(cause)}</p>
      {where && <p className={own.where}>{where}</p>}
      <p className={own.advice}>{withCode(advice)}</p>
      {quoted && (
        <details className={own.quoted} data-testid="traceback">
          <summary>Traceback</summary>
          <pre>{quoted}</pre>
        </details>
      )}
      <Group gap="8px 18px" mt={14} fz={13.5}>
        <LinkButton size="xs" variant="default" to="/new" search={{ clone: run.experiment_id }}>
          Clone the experiment
        </LinkButton>
        <Link to="/runs/$runId" params={{ runId: run.id }} search={{ rank: rank ?? -1 }} hash="log">
          {rank === undefined ? "Log of mpirun" : `Log of rank ${rank}`}
        </Link>
      </Group>
    </section>
  );
}
