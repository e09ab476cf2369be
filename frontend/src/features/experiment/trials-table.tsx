import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { TrialView } from "@/lib/client/types.gen";
import { formatPercent } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { formatValue } from "@/lib/spaces/words";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import styles from "./experiment.module.css";
import { byRank, type Measure, measureTitle, outcomeOf } from "./trials";
import type { PlotProps } from "./trials-plot";
import own from "./tuning.module.css";

/** Trials shown before all are asked for. */
const LISTED = 8;

/** Every trial, the best first; the number of a trial leads to its latest run. */
export function TrialsTable({ search, measure, marked, mark }: PlotProps) {
  const [all, setAll] = useState(false);
  const names = Object.keys(search.spaces);
  const ordered = byRank(search.trials);
  const shown = all || ordered.length <= LISTED + 2 ? ordered : ordered.slice(0, LISTED);
  return (
    <>
      <TableRegion label={`Trials of ${search.variant}`}>
        <table className={`${ui.table} ${ui.sticky}`} data-testid="trials-table">
          <caption className={ui.unseen}>Trials of {search.variant}, the best first.</caption>
          <thead>
            <tr>
              <th scope="col">Rank</th>
              <th scope="col">Trial</th>
              {names.map((name) => (
                <th data-number scope="col" key={name} className={ui.number}>
                  {name}
                </th>
              ))}
              {measure === "seconds" && (
                <th data-number scope="col" className={ui.number}>
                  {measureTitle(measure, search.simulated)}
                </th>
              )}
              <th data-number scope="col" className={ui.number}>
                Accuracy
              </th>
              <th data-number scope="col" className={ui.number}>
                Rung
              </th>
              <th data-number scope="col" className={ui.number}>
                Runs
              </th>
            </tr>
          </thead>
          <tbody onPointerLeave={() => mark(undefined)}>
            {shown.map((trial) => (
              <TrialRow
                key={trial.trial}
                trial={trial}
                names={names}
                measure={measure}
                marked={marked === trial.trial}
                mark={mark}
              />
            ))}
          </tbody>
        </table>
      </TableRegion>
      {shown.length < ordered.length && (
        <Button size="compact-xs" variant="default" mt={10} onClick={() => setAll(true)}>
          Show all {ordered.length} trials
        </Button>
      )}
    </>
  );
}

interface RowProps {
  trial: TrialView;
  names: readonly string[];
  measure: Measure;
  marked: boolean;
  mark: (trial: number | undefined) => void;
}

function TrialRow({ trial, names, measure, marked, mark }: RowProps) {
  const latest = trial.runs.at(-1);
  const at = () => mark(trial.trial);
  return (
    <tr
      className={own.trial}
      data-testid="trial"
      data-chosen={trial.chosen}
      data-marked={marked}
      onPointerEnter={at}
      onFocus={at}
      onBlur={() => mark(undefined)}
    >
      <td>{trial.rank ?? "–"}</td>
      <td>
        {latest ? (
          <Link to="/runs/$runId" params={{ runId: latest }} className={styles.runLink}>
            {trial.trial}
          </Link>
        ) : (
          trial.trial
        )}
        {trial.chosen && <span className={own.badge}>chosen</span>}
      </td>
      {names.map((name) => (
        <td key={name} className={ui.number}>
          {formatValue(trial.parameters[name])}
        </td>
      ))}
      {measure === "seconds" && <td className={ui.number}>{time(trial)}</td>}
      <td className={ui.number}>{formatPercent(trial.accuracy, 2)}</td>
      <td className={ui.number}>{trial.runs.length > 0 ? trial.rung + 1 : "–"}</td>
      <td className={ui.number}>{runsOf(trial)}</td>
    </tr>
  );
}

function time(trial: TrialView): string {
  return outcomeOf(trial, "seconds") === "missed" ? "missed" : formatSeconds(trial.seconds);
}

/** "2, 1 failed". */
function runsOf(trial: TrialView): string {
  const parts = [`${trial.runs.length}`];
  if (trial.open > 0) parts.push(`${trial.open} open`);
  if (trial.failed > 0) parts.push(`${trial.failed} failed`);
  return parts.join(", ");
}
