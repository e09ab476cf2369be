import { Alert, Loader } from "@mantine/core";
import { explain, worthRetrying } from "@/lib/api/problem";
import type { DryRun, Fault, PlannedRunView } from "@/lib/client/types.gen";
import { formatCount } from "@/lib/format/numbers";
import { withCode } from "@/lib/ui/code";
import { TableRegion } from "@/lib/ui/table-region";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import { DurationNote } from "./duration-note";
import { fixFirst, placeName } from "./faults";
import styles from "./form.module.css";
import { MemoryNote } from "./memory-note";
import { QueueNote } from "./queue-note";

const LISTED = 200;

interface PlanPanelProps {
  plan: DryRun | undefined;
  error: unknown;
  faults: readonly Fault[];
  settled: boolean;
  focus: (pointer: string) => void;
  /** Number of the line where a place of the document is written, if it is shown as text. */
  lineOf?: (pointer: string) => number | undefined;
  /** Title of a refusal that names no place. */
  refused?: string;
}

/** What would run, or what stands in the way. */
export function PlanPanel({ plan, error, settled, ...told }: PlanPanelProps) {
  return (
    <div className={styles.plan} data-testid="plan" data-settled={settled} aria-live="polite">
      {error ? (
        <Faults error={error} {...told} />
      ) : plan ? (
        <Plan plan={plan} focus={told.focus} />
      ) : (
        <Loader size="sm" />
      )}
    </div>
  );
}

type FaultsProps = Omit<PlanPanelProps, "plan" | "settled">;

function Faults({ error, faults, focus, lineOf, refused = "The experiment cannot be checked" }: FaultsProps) {
  if (faults.length === 0)
    return (
      <Alert color="red" title={worthRetrying(0, error) ? "Not checked yet" : refused} data-testid="faults">
        {explain(error)}
      </Alert>
    );
  return (
    <Alert color="red" title={fixFirst(faults.length)} data-testid="faults">
      <ul className={styles.faults}>
        {faults.map(({ pointer, message }) => (
          <li key={`${pointer} ${message}`}>
            <button type="button" onClick={() => focus(pointer)} data-testid="fault" data-pointer={pointer}>
              <strong>{placeName(pointer)}</strong>
              {lineText(lineOf?.(pointer))}: {withCode(message)}
            </button>
          </li>
        ))}
      </ul>
    </Alert>
  );
}

function lineText(line: number | undefined): string {
  return line === undefined ? "" : ` (line ${line})`;
}

interface Cell {
  readonly key: string;
  readonly run: PlannedRunView;
  readonly count: number;
}

/** Runs counted per cluster and number of workers, in order. */
function cells(runs: readonly PlannedRunView[]): Cell[] {
  const found = new Map<string, Cell>();
  for (const run of runs) {
    const key = `${run.cluster} ${run.workers}`;
    found.set(key, { key, run, count: (found.get(key)?.count ?? 0) + 1 });
  }
  return [...found.values()];
}

export function runs(count: number): string {
  return count === 1 ? "run" : "runs";
}

/** How many runs there will be; of trials at most, because those that met the target are not run again. */
function Total({ plan }: { plan: DryRun }) {
  const { trial_runs: trials, reported_runs: reported } = plan;
  if (trials === 0) {
    return (
      <p className={styles.total} data-testid="plan-total">
        <strong>{formatCount(plan.runs.length)}</strong> {runs(plan.runs.length)}
      </p>
    );
  }
  return (
    <>
      <p className={styles.total} data-testid="plan-total">
        <strong>{formatCount(trials)}</strong> trial {runs(trials)} at most,{" "}
        <strong>{formatCount(reported)}</strong> reported {runs(reported)}
      </p>
      <p className={styles.source} style={{ marginBottom: 10 }}>
        Trials choose the settings; the reported runs then have other seeds. First{" "}
        {formatCount(plan.runs.length)} {runs(plan.runs.length)} of trials:
      </p>
    </>
  );
}

function Plan({ plan, focus }: { plan: DryRun; focus: (pointer: string) => void }) {
  return (
    <>
      <Total plan={plan} />
      <TableRegion label="Planned runs by cluster">
        <table className={ui.table}>
          <thead>
            <tr>
              <th scope="col">Cluster</th>
              <th scope="col">Workers</th>
              <th scope="col" data-number className={ui.number}>
                Runs
              </th>
            </tr>
          </thead>
          <tbody>
            {cells(plan.runs).map(({ key, run, count }) => (
              <tr key={key}>
                <td>
                  {run.cluster} {run.simulated && <Tag kind="simulated" />}
                </td>
                <td>
                  {run.workers} {run.workers === 1 ? "worker" : "workers"}
                </td>
                <td className={ui.number}>{formatCount(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableRegion>
      <DurationNote durations={plan.durations} />
      <MemoryNote memory={plan.memory} />
      <QueueNote hosts={[...new Set(plan.runs.map(({ host }) => host))]} waiting={plan.waiting ?? []} />
      {plan.warnings.length > 0 && (
        <ul className={styles.warnings} data-testid="warnings">
          {plan.warnings.map(({ pointer, message }) => (
            <li key={`${pointer} ${message}`}>
              <button type="button" onClick={() => focus(pointer)} data-pointer={pointer}>
                <strong>{placeName(pointer)}</strong>: {withCode(message)}
              </button>
            </li>
          ))}
        </ul>
      )}
      <details className={styles.details}>
        <summary>Every run</summary>
        <div className={styles.runs}>
          <TableRegion label="Planned runs">
            <table className={ui.table} data-testid="planned-runs">
              <thead>
                <tr>
                  <th scope="col">Variant</th>
                  <th scope="col">Cluster</th>
                  <th scope="col" data-number className={ui.number}>
                    Workers
                  </th>
                  <th scope="col" data-number className={ui.number}>
                    Seed or trial
                  </th>
                </tr>
              </thead>
              <tbody>
                {plan.runs.slice(0, LISTED).map((run) => (
                  <tr key={`${run.variant} ${run.cluster} ${run.workers} ${run.seed} ${run.trial}`}>
                    <td>{run.variant}</td>
                    <td>{run.cluster}</td>
                    <td className={ui.number}>{run.workers}</td>
                    <td className={ui.number}>
                      {run.trial === null ? `seed ${run.seed}` : `trial ${run.trial}`}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableRegion>
          {plan.runs.length > LISTED && <p>and {formatCount(plan.runs.length - LISTED)} more</p>}
        </div>
      </details>
    </>
  );
}
