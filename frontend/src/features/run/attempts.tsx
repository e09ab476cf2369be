import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import {
  abandonRunMutation,
  readRunQueryKey,
  retryRunMutation,
} from "@/lib/client/@tanstack/react-query.gen";
import type { ExperimentView, RunView } from "@/lib/client/types.gen";
import { Allowed } from "@/lib/people/allowed";
import { ConfirmButton } from "@/lib/ui/confirm-button";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { isTerminal } from "@/lib/ui/states";
import styles from "./run.module.css";

const RISK =
  "Abandon this run? Its processes may still be running: then they keep using their cluster " +
  "until they reach this server, which ends them, and another attempt there would share cores with them.";

const AFRESH =
  "Start this run over? The next attempt begins without a checkpoint. What was measured so far stays stored, and " +
  "does not count any more. Retry goes on from the latest checkpoint since the last start from the beginning.";

/** Requests for another attempt, and to give up one that nobody can reach. */
export function useAttempts() {
  const client = useQueryClient();
  const onSuccess = (view: RunView) =>
    client.setQueryData(readRunQueryKey({ path: { run_id: view.id } }), view);
  return {
    retry: useMutation({ ...retryRunMutation(), onSuccess }),
    abandon: useMutation({ ...abandonRunMutation(), onSuccess }),
  };
}

type Attempts = ReturnType<typeof useAttempts>;

function canRetry(run: RunView): boolean {
  return isTerminal(run.state) && run.state !== "succeeded" && run.rung === null;
}

/** Lost, or on its way to a cluster and to be cancelled: the server refuses where the cluster answers. */
function canAbandon(run: RunView): boolean {
  return run.state === "lost" || (run.state === "dispatched" && run.cancel_requested);
}

interface AttemptButtonsProps {
  run: RunView;
  /** Undefined while it is not known: then neither is whether a run that ended can be run here. */
  experiment: ExperimentView | undefined;
  attempts: Attempts;
}

export function AttemptButtons({ run, experiment, attempts }: AttemptButtonsProps) {
  const path = { run_id: run.id };
  if (experiment?.origin) {
    return canRetry(run) && <span className={styles.refused}>Imported; cannot be run here</span>;
  }
  return (
    <>
      {experiment && canRetry(run) && (
        <Button
          variant="default"
          loading={attempts.retry.isPending}
          onClick={() => attempts.retry.mutate({ path, body: { resume: true } })}
          data-testid="retry-run"
        >
          Retry
        </Button>
      )}
      {experiment && canRetry(run) && run.checkpoints.length > 0 && (
        <ConfirmButton
          label="Start over"
          question={AFRESH}
          confirm="Start it over"
          keep="Leave it"
          busy={attempts.retry.isPending}
          act={() => attempts.retry.mutate({ path, body: { resume: false } })}
          testId="start-over"
        />
      )}
      {canAbandon(run) && (
        <Allowed least="operator" inProject>
          <ConfirmButton
            label="Abandon"
            question={RISK}
            confirm="Abandon the run"
            keep="Wait for it"
            busy={attempts.abandon.isPending}
            act={() => attempts.abandon.mutate({ path })}
            testId="abandon-run"
          />
        </Allowed>
      )}
    </>
  );
}

/** Why a request was refused. */
export function AttemptErrors({ attempts: { retry, abandon } }: { attempts: Attempts }) {
  return (
    <>
      {retry.isError && <ErrorPanel what="The run could not be retried." error={retry.error} />}
      {abandon.isError && <ErrorPanel what="The run could not be abandoned." error={abandon.error} />}
    </>
  );
}
