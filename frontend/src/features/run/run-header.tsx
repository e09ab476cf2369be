import { Group, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { cancelRunMutation, readRunQueryKey } from "@/lib/client/@tanstack/react-query.gen";
import type { ExperimentView, RunView, Target } from "@/lib/client/types.gen";
import { formatChosenPercent, formatCount, formatNumber, formatPercent } from "@/lib/format/numbers";
import { accuracyLabel } from "@/lib/format/quantities";
import { formatSeconds } from "@/lib/format/time";
import { Allowed } from "@/lib/people/allowed";
import { WaitingNotes } from "@/lib/queue/waiting-note";
import { ConfirmButton } from "@/lib/ui/confirm-button";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { OriginNote } from "@/lib/ui/origin-note";
import { StateBadge } from "@/lib/ui/state-badge";
import { isTerminal, outcomeOf } from "@/lib/ui/states";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import { AttemptButtons, AttemptErrors, useAttempts } from "./attempts";
import { CheckpointButton, CheckpointNote, useCheckpoint } from "./checkpoint";
import { FailurePart } from "./failure-part";
import styles from "./run.module.css";

interface RunHeaderProps {
  run: RunView;
  index: number;
  experiment: ExperimentView | undefined;
}

export function RunHeader({ run, index, experiment }: RunHeaderProps) {
  const client = useQueryClient();
  const cancel = useMutation({
    ...cancelRunMutation(),
    onSuccess: (view) => client.setQueryData(readRunQueryKey({ path: { run_id: view.id } }), view),
  });
  const checkpoint = useCheckpoint(run);
  const cancelling = run.cancel_requested || cancel.isPending;
  const attempts = useAttempts();
  return (
    <header>
      <nav className={styles.crumb} aria-label="Breadcrumb">
        <Link to="/experiments/$experimentId" params={{ experimentId: run.experiment_id }}>
          {experiment ? <bdi>{experiment.name}</bdi> : "Experiment"}
        </Link>
      </nav>
      <Group justify="space-between" gap="12px 24px">
        <h1 className={styles.title}>
          Run #{run.number} <VariantChip name={run.variant} index={index} />
        </h1>
        <Group wrap="nowrap" align="stretch" gap={10}>
          <Allowed least="researcher" of={experiment?.user}>
            <AttemptButtons run={run} experiment={experiment} attempts={attempts} />
            {!isTerminal(run.state) && (
              <>
                <CheckpointButton run={run} request={checkpoint} />
                <ConfirmButton
                  label={cancelling ? "Cancelling" : "Cancel"}
                  question="Cancel this run? Measured data is kept."
                  confirm="Cancel the run"
                  busy={cancelling}
                  act={() => cancel.mutate({ path: { run_id: run.id } })}
                  testId="cancel-run"
                />
              </>
            )}
          </Allowed>
        </Group>
      </Group>
      <Group gap="8px 22px" mt={12} mih={24} fz={13.5} c="dimmed">
        <StateBadge
          state={run.state}
          testId="run-state"
          cancelling={cancelling}
          outcome={outcomeOf(run, Boolean(experiment?.spec.target))}
        />
        <span>
          {run.cluster}, {run.workers} {run.workers === 1 ? "worker" : "workers"}
          {run.servers > 0 && " + server"}
        </span>
        <span>seed {run.seed}</span>
        {run.trial !== null && (
          <span>
            {run.rung === null ? `setting of trial ${run.trial}` : `trial ${run.trial}, rung ${run.rung + 1}`}
          </span>
        )}
        <span>attempt {run.attempt}</span>
        <OriginNote origin={experiment?.origin} />
        {run.simulated && <Tag kind="simulated" />}
        {run.oversubscribed && <Tag kind="oversubscribed" />}
        {run.overlap !== null && <Tag kind="overlapped" />}
      </Group>
      {run.waiting && <WaitingNotes waiting={[run.waiting]} />}
      <FailurePart run={run} />
      <CheckpointNote request={checkpoint} />
      <Figures run={run} target={experiment?.spec.target ?? undefined} />
      {cancel.isError && <ErrorPanel what="The run could not be cancelled." error={cancel.error} />}
      <AttemptErrors attempts={attempts} />
    </header>
  );
}

function partsOf(run: RunView): string {
  if (run.evaluated_part === "test")
    return "Made without a validation part: evaluations, and a target, were judged on the test part.";
  if (run.test_accuracy !== null && run.test_loss !== null) {
    const loss = formatNumber(run.test_loss, 4);
    return `Test part, scored once after the end: loss ${loss}. It was not used for any decision.`;
  }
  return "The test part is scored once, when the run has met its target or its budget; it is not used for any decision.";
}

/** Beside the accuracy of a run that has ended without its target. */
function missed(run: RunView, target: Target | undefined): string {
  if (!target || run.time_to_target !== null || !isTerminal(run.state)) return "";
  return target.metric?.endsWith("loss") ? "" : `target ${formatChosenPercent(target.value)} not reached`;
}

function Figures({ run, target }: { run: RunView; target: Target | undefined }) {
  const figures = [
    [accuracyLabel(run.evaluated_part), formatPercent(run.accuracy, 2), missed(run, target)],
    ...(run.evaluated_part === "test" ? [] : [["Test accuracy, once", formatPercent(run.test_accuracy, 2)]]),
    [run.simulated ? "Time to target, virtual" : "Time to target", formatSeconds(run.time_to_target)],
    ["Communication", formatPercent(run.communication_fraction)],
    ["Samples", `${formatCount(run.samples)} of ${formatCount(run.budget)}`],
  ];
  return (
    <>
      <dl className={styles.figures}>
        {figures.map(([label, value, note]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {value}
              {note && <span className={ui.range}>{note}</span>}
            </dd>
          </div>
        ))}
      </dl>
      <Text fz={13.5} c="dimmed" mt={12} data-testid="parts">
        {partsOf(run)}
      </Text>
    </>
  );
}
