import { Group as Row, SegmentedControl, Skeleton } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ExperimentView, RunSummary, WaitingView } from "@/lib/client/types.gen";
import { formatCount, formatPercent } from "@/lib/format/numbers";
import { accuracyLabel } from "@/lib/format/quantities";
import { formatSeconds } from "@/lib/format/time";
import { placeOf, predicted, reasonOf } from "@/lib/queue/waiting-note";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { Section } from "@/lib/ui/section";
import { StateBadge } from "@/lib/ui/state-badge";
import { outcomeOf } from "@/lib/ui/states";
import { TableRegion } from "@/lib/ui/table-region";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import { useNow } from "@/lib/ui/use-now";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./experiment.module.css";
import type { ExperimentSearch } from "./search";
import { useRuns } from "./use-experiment";

const route = getRouteApi("/experiments/$experimentId");

/** Every run of the experiment; each leads to its own page. */
export function RunsTable({ experiment }: { experiment: ExperimentView }) {
  const tuned = Boolean(experiment.spec.tuning);
  const only = route.useSearch().runs;
  const query = useRuns(experiment.id, tuned ? true : undefined);
  const trials = useRuns(experiment.id, false, tuned);
  const reported = query.data?.items ?? [];
  const tried = trials.data?.items ?? [];
  const runs = [...(only === "trials" ? [] : reported), ...(only === "reported" ? [] : tried)];
  const cut = query.data?.next_cursor || trials.data?.next_cursor;
  const more = cut ? `The first ${runs.length} runs are shown.` : undefined;
  return (
    <Section
      title="Runs"
      testId="runs"
      aside={
        <Row gap="6px 12px">
          <span className={styles.aside}>{more}</span>
          <a className={styles.download} href={`/api/v1/runs.csv?experiment=${experiment.id}`} download>
            All runs, CSV
          </a>
          <a className={styles.download} href={`/api/v1/experiments/${experiment.id}/points.csv`} download>
            All points, CSV
          </a>
          {tuned && <RunsPicker only={only} reported={reported.length} trials={tried.length} />}
        </Row>
      }
    >
      {query.isError && !query.data && (
        <ErrorPanel what="The runs could not be read." error={query.error} retry={() => query.refetch()} />
      )}
      {query.isPending && <Skeleton height={240} />}
      {query.data && (
        <TableRegion label="Runs of this experiment">
          <table className={`${ui.table} ${ui.sticky}`} data-testid="runs-table">
            <thead>
              <tr>
                <th scope="col">Run</th>
                <th scope="col">Variant</th>
                {tuned && <th scope="col">Trial</th>}
                <th scope="col">Cluster</th>
                <th data-number scope="col" className={ui.number}>
                  Seed
                </th>
                <th scope="col">State</th>
                <th scope="col">Budget</th>
                <th data-number scope="col" className={ui.number}>
                  Last accuracy
                </th>
                <th data-number scope="col" className={ui.number}>
                  Test accuracy, once
                </th>
                <th data-number scope="col" className={ui.number}>
                  Time to target
                </th>
                <th data-number scope="col" className={ui.number}>
                  Communication
                </th>
              </tr>
            </thead>
            <tbody>
              {runs.map((run) => (
                <RunRow
                  key={run.id}
                  run={run}
                  index={experiment.variants.indexOf(run.variant)}
                  tuned={tuned}
                  hasTarget={Boolean(experiment.spec.target)}
                />
              ))}
            </tbody>
          </table>
        </TableRegion>
      )}
    </Section>
  );
}

/** Those of trials, those that are reported, or both: the reported ones then come first. */
function RunsPicker({
  only,
  reported,
  trials,
}: {
  only: ExperimentSearch["runs"];
  reported: number;
  trials: number;
}) {
  const navigate = route.useNavigate();
  return (
    <SegmentedControl
      size="xs"
      aria-label="Runs shown"
      data-testid="runs-picker"
      value={only ?? "all"}
      data={[
        { value: "all", label: "All" },
        { value: "reported", label: `Reported (${formatCount(reported)})` },
        { value: "trials", label: `Trials (${formatCount(trials)})` },
      ]}
      onChange={(value) => {
        const runs = value === "reported" || value === "trials" ? value : undefined;
        navigate({ search: (old) => ({ ...old, runs }), replace: true, resetScroll: false });
      }}
    />
  );
}

/** "5, rung 1" of a trial; of a reported run, the trial whose setting it has. */
function trialOf(run: RunSummary) {
  if (run.rung !== null) return `${run.trial}, rung ${run.rung + 1}`;
  return <span className={styles.quiet}>setting of trial {run.trial}</span>;
}

/** "4th in queue, starts about 14:05". */
function Waits({ waiting }: { waiting: WaitingView }) {
  const now = useNow();
  const when = waiting.starts && predicted({ starts: waiting.starts, ends: null }, now);
  return <span className={styles.quiet}> {[placeOf(waiting), when].filter(Boolean).join(", ")}</span>;
}

interface RunRowProps {
  run: RunSummary;
  index: number;
  tuned: boolean;
  hasTarget: boolean;
}

function RunRow({ run, index, tuned, hasTarget }: RunRowProps) {
  const share = Math.min(1, run.samples / Math.max(1, run.budget));
  return (
    <tr data-testid="run-row" data-state={run.state}>
      <td>
        <Link to="/runs/$runId" params={{ runId: run.id }} className={styles.runLink}>
          #{run.number}
          {run.attempt > 1 && <span className={styles.quiet}> attempt {run.attempt}</span>}
        </Link>
      </td>
      <td>
        <VariantChip name={run.variant} index={index} />
      </td>
      {tuned && <td>{trialOf(run)}</td>}
      <td>
        {run.cluster} <span className={styles.quiet}>× {run.workers}</span>{" "}
        {run.simulated && <Tag kind="simulated" />}
        {run.oversubscribed && <Tag kind="oversubscribed" />}
        {run.overlap !== null && <Tag kind="overlapped" />}
      </td>
      <td className={ui.number}>{run.seed}</td>
      <td>
        <StateBadge
          state={run.state}
          cancelling={run.cancel_requested}
          note={run.waiting ? reasonOf(run.waiting) : undefined}
          outcome={outcomeOf(run, hasTarget)}
        />
        {run.waiting && <Waits waiting={run.waiting} />}
      </td>
      <td>
        <span className={styles.meter} title={`${formatPercent(share)} of the budget`}>
          <span style={{ width: `${share * 100}%` }} />
        </span>
      </td>
      <td className={ui.number} title={accuracyLabel(run.evaluated_part)}>
        {formatPercent(run.accuracy, 2)}
      </td>
      <td className={ui.number}>{formatPercent(run.test_accuracy, 2)}</td>
      <td className={ui.number}>
        {formatSeconds(run.time_to_target)}
        {run.simulated && run.time_to_target !== null && <span className={styles.quiet}> virtual</span>}
      </td>
      <td className={ui.number}>{formatPercent(run.communication_fraction)}</td>
    </tr>
  );
}
