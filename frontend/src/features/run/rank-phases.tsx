import { PhaseBar, PhaseKey } from "@/lib/charts/phase-bar";
import type { PhaseTotals, RunView } from "@/lib/client/types.gen";
import { formatBytes, formatCount, formatPercent } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { PHASES } from "@/lib/theme/palette";
import { Section } from "@/lib/ui/section";
import { isTerminal } from "@/lib/ui/states";
import outcome from "./outcome.module.css";
import styles from "./run.module.css";

function shares(rank: PhaseTotals): Record<string, number> {
  return Object.fromEntries(PHASES.map((phase) => [phase, rank[phase]]));
}

/** Seconds below which a difference of two virtual clocks is rounding. */
const NOTHING = 1e-7;

/** Exposed communication over wall time without evaluation. */
function fraction(rank: PhaseTotals): number | null {
  const train = rank.wall - rank.evaluate;
  return train > 0 ? rank.communicate / train : null;
}

/** What was chosen for a rank, and why. */
function Notes({ rank }: { rank: PhaseTotals }) {
  const notes = Object.entries(rank.notes);
  if (notes.length === 0) return null;
  return (
    <dl className={outcome.notes} data-testid="rank-notes">
      {notes.map(([name, text]) => (
        <div key={name} className={outcome.note}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** One bar per rank: where its wall time went. */
export function RankPhases({ run }: { run: RunView }) {
  const seconds = run.simulated ? "virtual" : "wall";
  return (
    <Section title="Phases by rank" testId="rank-phases">
      <PhaseKey />
      <div className={styles.ranks}>
        {run.phases.map((rank) => (
          <div key={rank.rank} className={styles.rank} data-testid="rank-phase" data-rank={rank.rank}>
            <span>
              {rank.role} {rank.rank}
              <span className={styles.quiet}>
                {" "}
                {formatSeconds(rank.wall)} {seconds} · {formatCount(rank.steps)} steps
              </span>
            </span>
            <PhaseBar shares={shares(rank)} label={`${rank.role} ${rank.rank}`} />
            <span>
              <strong>{formatPercent(fraction(rank))}</strong> communication
              <span className={styles.quiet}>
                {" "}
                · {formatBytes(rank.wire)} in {formatCount(rank.messages)} messages
                {rank.hidden > NOTHING && ` · ${formatSeconds(rank.hidden)} hidden`}
              </span>
            </span>
            <Notes rank={rank} />
          </div>
        ))}
        {run.phases.length === 0 && (
          <p className={styles.quiet}>
            {isTerminal(run.state)
              ? "The run ended before any rank took a step."
              : "No rank has taken a step yet."}
          </p>
        )}
      </div>
    </Section>
  );
}
