import type { ComparisonRow, Estimate, ExperimentView } from "@/lib/client/types.gen";
import { isolated } from "@/lib/format/isolated";
import {
  formatBytes,
  formatCount,
  formatNumber,
  formatPercent,
  formatRatio,
  NONE,
} from "@/lib/format/numbers";
import { estimated } from "@/lib/format/ratios";
import { formatSeconds } from "@/lib/format/time";
import { colorOf } from "@/lib/theme/palette";
import { Figure } from "@/lib/ui/figure";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import { claimOf, correctionOf, pairsOf } from "./claim";
import styles from "./comparison-table.module.css";
import type { Group } from "./groups";

/** Fixed, so that no column moves when a figure arrives; px. Each holds its longest usual figure in a wide font. */
const WIDTHS = [
  ["variant", undefined],
  ["time", 114],
  ["speed-up", 101],
  ["claim", 150],
  ["accuracy", 106],
  ["test", 106],
  ["communication", 107],
  ["sent", 124],
  ["throughput", 126],
  ["staleness", 80],
  ["runs", 46],
] as const;

function range(low: number | null, high: number | null, format: (value: number | null) => string): string {
  if (low === null && high === null) return "";
  if (high === null) return `from ${format(low)}`;
  return low === null ? `up to ${format(high)}` : `${format(low)} to ${format(high)}`;
}

const percent = (value: number | null) => formatPercent(within(value, 1));

function estimate(value: Estimate, format: (figure: number | null) => string) {
  return <Figure value={format(value.mean)} range={range(value.low, value.high, format)} />;
}

/** The geometric mean, of which a speed-up is the ratio; where a seed missed the target, the median. */
function timeToTarget(row: ComparisonRow) {
  const time = row.time_to_target;
  if (!time || time.n === 0) return <Figure value={NONE} />;
  const reached = `${time.reached} of ${time.n} reached`;
  if (time.reached === 0)
    return <Figure value="not reached" range={time.n === 1 ? "by 1 seed" : `by any of ${time.n} seeds`} />;
  if (time.mean !== null) return <Figure value={formatSeconds(time.mean)} range={reached} />;
  return (
    <Figure
      value={formatSeconds(time.median)}
      range={time.median === null ? reached : `median, ${reached}`}
    />
  );
}

/** At the target, because a run may be evaluated once more after it, and the best; without a target, at the end. */
function accuracy(row: ComparisonRow) {
  if (!row.time_to_target) return estimate(row.accuracy, percent);
  const best = row.best_accuracy;
  return (
    <Figure
      value={percent(row.target_accuracy.mean)}
      range={best.n > 0 ? `best ${percent(best.mean)}` : ""}
    />
  );
}

function speedUp(row: ComparisonRow) {
  const { claim, low, high } = row.speed_up;
  if (claim === "baseline") return <Figure value="1×" range="baseline" />;
  const interval = claim === "no claim" ? "" : range(low, high, formatRatio);
  return <Figure value={formatRatio(estimated(row.speed_up))} range={interval || claim} />;
}

/** A t interval of few seeds may leave the range of what it estimates; what is shown may not. */
function within(value: number | null, greatest = Number.POSITIVE_INFINITY): number | null {
  return value === null ? null : Math.min(greatest, Math.max(0, value));
}

/** The mean accuracy at the end with its interval, for those who ask. */
function intervalOf({ accuracy: { mean, low, high } }: ComparisonRow): string {
  return mean === null ? "" : `${percent(mean)} at the end ${range(low, high, percent)}`.trim();
}

const bytes = (value: number | null) => formatBytes(within(value));
const count = (value: number | null) => formatCount(within(value));

/** The figures of one group: a mean over its 95% interval over seeds. */
export function ComparisonTable({
  experiment,
  group,
  without,
}: {
  experiment: ExperimentView;
  group: Group | undefined;
  /** Made without a validation part. */
  without: boolean;
}) {
  const rows = group?.rows ?? [];
  const seconds = group?.simulated ? "virtual s" : "s";
  const stale = rows.some((row) => row.staleness.n > 0);
  return (
    <TableRegion label="Comparison">
      <table className={`${ui.table} ${ui.sticky} ${styles.fixed}`} data-testid="comparison-table">
        <caption className={ui.unseen}>
          Means over seeds with 95% t intervals. For times to the target: geometric means, whose ratio is the
          speed-up, paired by seed; or the median where a seed missed the target. Intervals include that a
          time is only known to lie between two evaluations
          {correctionOf(rows.map((row) => row.speed_up))}.
        </caption>
        <colgroup>
          {WIDTHS.filter(([column]) => stale || column !== "staleness").map(([column, width]) => (
            <col key={column} style={{ width }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            <th scope="col">Variant</th>
            <th
              data-number
              scope="col"
              className={ui.number}
              title="Geometric mean over seeds: the ratio of two is the speed-up. The median, where a seed missed the target."
            >
              Time to target
              <br />
              mean, {seconds}
            </th>
            <th data-number scope="col" className={ui.number}>
              Speed-up
            </th>
            <th scope="col">Claim</th>
            <th data-number scope="col" className={ui.number}>
              {without ? "Test part" : "Accuracy"},
              <br />
              {rows.some((row) => row.time_to_target) ? "at the target" : "at the end"}
            </th>
            <th
              data-number
              scope="col"
              className={ui.number}
              title="Scored once per run; not used for any decision"
            >
              Test accuracy,
              <br />
              once
            </th>
            <th data-number scope="col" className={ui.number}>
              Communication
            </th>
            <th data-number scope="col" className={ui.number}>
              Sent per run
            </th>
            <th data-number scope="col" className={ui.number}>
              Samples
              <br />
              per {seconds}
            </th>
            {stale && (
              <th
                data-number
                scope="col"
                className={ui.number}
                title="Center updates between a worker's read and its write"
              >
                Staleness
              </th>
            )}
            <th data-number scope="col" className={ui.number}>
              Runs
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.variant} data-testid="comparison-row" data-variant={row.variant}>
              <td>
                <VariantChip name={row.variant} index={colorOf(experiment, row.variant)} />
              </td>
              <td className={ui.number}>{timeToTarget(row)}</td>
              <td className={ui.number} title={isolated(row.speed_up.sentence, experiment.variants)}>
                {speedUp(row)}
              </td>
              <td>
                <Figure value={claimOf(row.speed_up)} range={pairsOf(row.speed_up)} />
              </td>
              <td className={ui.number} title={intervalOf(row)}>
                {accuracy(row)}
              </td>
              <td className={ui.number}>
                {row.test_accuracy.n > 0 ? estimate(row.test_accuracy, percent) : NONE}
              </td>
              <td className={ui.number}>{estimate(row.communication_fraction, percent)}</td>
              <td className={ui.number}>{estimate(row.wire, bytes)}</td>
              <td className={ui.number}>{estimate(row.throughput, count)}</td>
              {stale && (
                <td className={ui.number} data-testid="staleness">
                  {row.staleness.n > 0 ? estimate(row.staleness, formatNumber) : NONE}
                </td>
              )}
              <td className={ui.number}>
                <Figure
                  value={`${row.finished} / ${row.runs}`}
                  range={row.failed > 0 ? `${row.failed} failed` : ""}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}
