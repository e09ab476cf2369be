import { Skeleton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ExperimentView, RunSummary } from "@/lib/client/types.gen";
import { formatPercent } from "@/lib/format/numbers";
import { accuracyLabel } from "@/lib/format/quantities";
import { formatSeconds } from "@/lib/format/time";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { Section } from "@/lib/ui/section";
import { StateBadge } from "@/lib/ui/state-badge";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./experiment.module.css";
import { useRuns } from "./use-experiment";

/** Every run of the experiment; each leads to its own page. */
export function RunsTable({ experiment }: { experiment: ExperimentView }) {
  const query = useRuns(experiment.id);
  const runs = query.data?.items ?? [];
  const more = query.data?.next_cursor ? `The first ${runs.length} runs are shown.` : undefined;
  return (
    <Section title="Runs" testId="runs" aside={<span className={styles.aside}>{more}</span>}>
      {query.isError && !query.data && (
        <ErrorPanel what="The runs could not be read." error={query.error} retry={() => query.refetch()} />
      )}
      {query.isPending && <Skeleton height={240} />}
      {query.data && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section className={ui.tableWrap} aria-label="Runs of this experiment" tabIndex={0}>
          <table className={`${ui.table} ${ui.sticky}`} data-testid="runs-table">
            <thead>
              <tr>
                <th scope="col">Run</th>
                <th scope="col">Variant</th>
                <th scope="col">Cluster</th>
                <th scope="col" className={ui.number}>
                  Seed
                </th>
                <th scope="col">State</th>
                <th scope="col">Budget</th>
                <th scope="col" className={ui.number}>
                  Accuracy
                </th>
                <th scope="col" className={ui.number}>
                  Test accuracy, once
                </th>
                <th scope="col" className={ui.number}>
                  Time to target
                </th>
                <th scope="col" className={ui.number}>
                  Communication
                </th>
              </tr>
            </thead>
            <tbody>
              {runs.map((run) => (
                <RunRow key={run.id} run={run} index={experiment.variants.indexOf(run.variant)} />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Section>
  );
}

function RunRow({ run, index }: { run: RunSummary; index: number }) {
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
      <td>
        {run.cluster} <span className={styles.quiet}>× {run.workers}</span>{" "}
        {run.simulated && <Tag kind="simulated" />}
        {run.oversubscribed && <Tag kind="oversubscribed" />}
      </td>
      <td className={ui.number}>{run.seed}</td>
      <td>
        <StateBadge state={run.state} />
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
