import type { RefusedView, RunView, TransitionView } from "@/lib/client/types.gen";
import { formatBytes, formatCount } from "@/lib/format/numbers";
import { formatClock, formatMoment, formatSeconds } from "@/lib/format/time";
import { Section } from "@/lib/ui/section";
import { StateBadge } from "@/lib/ui/state-badge";
import { firstLine } from "./failure";
import outcome from "./outcome.module.css";
import styles from "./run.module.css";

function evidence(step: TransitionView): string {
  const parts = [
    step.exit_code === null ? undefined : `exit code ${step.exit_code}`,
    step.signal === null ? undefined : `signal ${step.signal}`,
    step.rank === null ? undefined : `rank ${step.rank}`,
    step.host === null ? undefined : `on ${step.host}`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** When the server made or received a change, and when it happened by the clock of the host that reported it. */
function moments({ at, reported_at: there }: TransitionView): string {
  return there ? `${formatMoment(at)}; ${formatMoment(there)} by the clock of its host` : formatMoment(at);
}

/** Every change of state: when, who, why, and the evidence. */
export function History({ run }: { run: RunView }) {
  return (
    <Section title="History" testId="history">
      <ol className={styles.history}>
        {run.history.map((step, i) => {
          const before = run.history[i - 1];
          const passed = before ? (Date.parse(step.at) - Date.parse(before.at)) / 1000 : 0;
          return (
            <li
              key={`${step.attempt}-${step.state}-${step.at}`}
              data-testid="transition"
              data-state={step.state}
            >
              <time dateTime={step.at} title={moments(step)}>
                {formatClock(step.at)}
              </time>
              <span className={styles.passed}>{before ? `+${formatSeconds(passed)}` : ""}</span>
              <StateBadge state={step.state} />
              <span className={styles.why}>
                {firstLine(step.why)}
                {evidence(step) && <strong> ({evidence(step)})</strong>}
                <span className={styles.quiet}>
                  {" "}
                  · {step.who}
                  {step.attempt > 1 && `, attempt ${step.attempt}`}
                </span>
              </span>
            </li>
          );
        })}
      </ol>
      <Kept run={run} />
    </Section>
  );
}

/** A cluster keeps the newest two of an attempt. */
const SHOWN = 2;

function earlier(count: number): string {
  return count === 1
    ? "an earlier one, replaced since"
    : `${formatCount(count)} earlier ones, replaced since`;
}

function place(one: RefusedView): string {
  return one.rank === null ? `line ${one.seq} of the output` : `number ${one.seq} of rank ${one.rank}`;
}

/** Workers that left, records that could not be stored, and the newest checkpoints. */
function Kept({ run }: { run: RunView }) {
  const { dropped, checkpoints, refused, refusals } = run;
  if (dropped.length + checkpoints.length + refused === 0) return null;
  const newest = checkpoints.slice(-SHOWN);
  const [first] = refusals;
  return (
    <ul className={outcome.kept} data-testid="kept">
      {dropped.map((one) => (
        <li key={`${one.attempt} ${one.worker} ${one.step}`} data-testid="dropped-worker">
          <strong>
            Worker {one.worker} left at step {formatCount(one.step)}
          </strong>
          : {one.why}.
        </li>
      ))}
      {refused > 0 && (
        <li data-testid="refused">
          <strong>
            {formatCount(refused)} {refused === 1 ? "record" : "records"} could not be stored
          </strong>
          {first && `, the first ${place(first)}: ${first.message} (${first.pointer || "the whole record"})`}
        </li>
      )}
      {newest.map((one) => (
        <li key={`${one.attempt} ${one.path}`} data-testid="checkpoint" title={one.path}>
          Checkpoint at {formatCount(one.samples)} samples, {formatBytes(one.bytes)}
          {one.at && ` · ${formatClock(one.at)}`}
        </li>
      ))}
      {checkpoints.length > SHOWN && <li>and {earlier(checkpoints.length - SHOWN)}</li>}
    </ul>
  );
}
