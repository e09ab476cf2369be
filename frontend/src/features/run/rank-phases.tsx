import { Text } from "@mantine/core";
import { DrawingMenu } from "@/lib/charts/drawing-menu";
import { PhaseBar, PhaseKey } from "@/lib/charts/phase-bar";
import type { Sheet } from "@/lib/charts/sheet-table";
import type { PhaseTotals, RunView } from "@/lib/client/types.gen";
import { phasesSvg } from "@/lib/export/phases-svg";
import { formatBytes, formatCount, formatPercent } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { phasesIn } from "@/lib/theme/palette";
import { Section } from "@/lib/ui/section";
import { isTerminal } from "@/lib/ui/states";
import outcome from "./outcome.module.css";
import { secondsOf } from "./phase-heat";
import styles from "./run.module.css";

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

const TITLE = "Phases by rank";

/** The bars in figures: seconds of each phase, and beside them what is said of the rank. */
export function ranksSheet(ranks: readonly PhaseTotals[]): Sheet {
  const totals = ["wall time", "steps", "communication fraction", "hidden", "sent", "messages"];
  const shown = phasesIn(ranks.map(secondsOf));
  return {
    head: ["Rank", ...shown, ...totals],
    rows: ranks.map((rank) => [
      `${rank.role} ${rank.rank}`,
      ...[...shown.map((phase) => rank[phase]), rank.wall].map(formatSeconds),
      formatCount(rank.steps),
      formatPercent(fraction(rank)),
      formatSeconds(rank.hidden),
      formatBytes(rank.wire),
      formatCount(rank.messages),
    ]),
  };
}

function pictureOf(run: RunView) {
  const bars = run.phases.map((rank) => ({
    name: `${rank.role} ${rank.rank}`,
    words: `${formatPercent(fraction(rank))} communication`,
    shares: secondsOf(rank),
  }));
  return phasesSvg(
    bars,
    `${TITLE}: ${run.variant}, run #${run.number}${run.simulated ? " (simulated)" : ""}`,
  );
}

/** One bar per rank: where its wall time went. */
export function RankPhases({ run }: { run: RunView }) {
  const seconds = run.simulated ? "virtual" : "wall";
  return (
    <Section
      title={TITLE}
      testId="rank-phases"
      aside={
        run.phases.length > 0 && (
          <DrawingMenu of={TITLE} host={() => pictureOf(run)} sheet={() => ranksSheet(run.phases)} />
        )
      }
    >
      <PhaseKey phases={phasesIn(run.phases.map(secondsOf))} />
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
            <PhaseBar shares={secondsOf(rank)} label={`${rank.role} ${rank.rank}`} />
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
          <Text fz={13.5} c="dimmed">
            {isTerminal(run.state)
              ? "The run ended before any rank took a step."
              : "No rank has taken a step yet."}
          </Text>
        )}
      </div>
    </Section>
  );
}
