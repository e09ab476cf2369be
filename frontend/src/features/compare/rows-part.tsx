import { Link } from "@tanstack/react-router";
import type { ComparedRow, ComparedRows } from "@/lib/client/types.gen";
import { NONE } from "@/lib/format/numbers";
import many from "@/lib/ui/close-table.module.css";
import { Figure } from "@/lib/ui/figure";
import { Section } from "@/lib/ui/section";
import { type Sorted, SortHead } from "@/lib/ui/sort-head";
import { TableRegion } from "@/lib/ui/table-region";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./compare.module.css";
import { FIGURES, type FigureOf, sorted } from "./figures";
import { colorsOf, placeOf } from "./names";
import { type CompareSearch, type FigureKey, nextSort, orderOf } from "./search";
import { keyOf } from "./selection";

interface RowsPartProps {
  compared: ComparedRows;
  sort: string | undefined;
  change: (next: Partial<CompareSearch>) => void;
}

/** The figures of all rows; measured and simulated ones never stand in one table. */
export function RowsPart({ compared, sort, change }: RowsPartProps) {
  const kinds = [false, true].filter((kind) => compared.rows.some((row) => row.simulated === kind));
  const tuned = new Set(compared.experiments.map(({ tuning }) => tuning)).size > 1;
  return (
    <Section title="Figures" testId="rows">
      {kinds.map((simulated) => (
        <div key={String(simulated)} className={styles.kind}>
          {kinds.length > 1 && (
            <h3 className={styles.kindTitle}>{simulated ? "Simulated: virtual seconds" : "Measured"}</h3>
          )}
          <RowsTable compared={compared} simulated={simulated} sort={sort} change={change} />
        </div>
      ))}
      {tuned && (
        <ul className={styles.notes} data-testid="efforts">
          {compared.experiments.map(({ id, number, tuning }) => (
            <li key={id}>
              #{number}: {tuning}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function RowsTable({ compared, simulated, sort, change }: RowsPartProps & { simulated: boolean }) {
  const { key: by, down } = orderOf(sort);
  const mine = compared.rows.filter((row) => row.simulated === simulated);
  const columns = FIGURES.filter((column) => compared.rows.some((row) => hasFigure(column, row)));
  const color = colorsOf(compared.experiments);
  const label = simulated ? "Figures of simulated rows" : "Figures of measured rows";
  return (
    <TableRegion label={label}>
      <table className={`${ui.table} ${ui.sticky} ${many.close}`} data-testid="rows-table">
        <caption className={ui.unseen}>
          Means over seeds with 95% t intervals; for the time to target, the median and the range over the
          seeds that reached it.
        </caption>
        <thead>
          <tr>
            <th scope="col">Row</th>
            <th data-number scope="col" className={ui.number}>
              Seeds
              <br />
              finished
            </th>
            {columns.map((column) => (
              <Head
                key={column.key}
                column={column}
                simulated={simulated}
                sorted={by === column.key ? (down ? "descending" : "ascending") : undefined}
                click={(key) => change({ sort: nextSort(sort, key) })}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted(mine, by, down).map((row) => (
            <tr key={keyOf(row)} data-testid="compared-row">
              <RowName row={row} index={color(row.variant)} />
              <td className={ui.number}>
                <Figure
                  value={`${row.finished} / ${row.runs}`}
                  range={row.failed > 0 ? `${row.failed} failed` : ""}
                />
              </td>
              {columns.map((column) => (
                <td key={column.key} className={ui.number}>
                  <Figure {...shown(column, row)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}

interface HeadProps {
  column: FigureOf;
  simulated: boolean;
  sorted: Sorted;
  click: (key: FigureKey) => void;
}

function Head({ column: { key, title, what }, simulated, sorted, click }: HeadProps) {
  const below = key === "time" ? `${what}, ${simulated ? "virtual s" : "s"}` : what;
  const named = `${title}, ${below}`;
  return (
    <SortHead title={title} below={below} named={named} number sorted={sorted} turn={() => click(key)} />
  );
}

function RowName({ row, index }: { row: ComparedRow; index: number }) {
  return (
    <th scope="row" className={styles.rowName}>
      <VariantChip name={row.variant} index={index} />
      <span className={ui.range}>
        <Link to="/experiments/$experimentId" params={{ experimentId: row.experiment }}>
          #{row.number}
        </Link>{" "}
        {row.run && (
          <Link to="/runs/$runId" params={{ runId: row.run.id }}>
            run {row.run.number}
            {row.run.trial !== null && `, trial ${row.run.trial}`}
          </Link>
        )}{" "}
        {placeOf(row)} {row.simulated && <Tag kind="simulated" />}
        {row.oversubscribed && <Tag kind="oversubscribed" />}
        {row.overlapped > 0 && <Tag kind="overlapped" />}
        {row.energy_shared > 0 &&
          ` · energy shared with others in ${row.energy_shared} ${row.energy_shared === 1 ? "run" : "runs"}`}
      </span>
    </th>
  );
}

/** Whether there is anything to say: of the time to the target also how many seeds missed it. */
function hasFigure({ key, of }: FigureOf, row: ComparedRow): boolean {
  return of(row) !== null || (key === "time" && (row.time_to_target?.n ?? 0) > 0);
}

/** A figure over its spread; of the time to the target, how many seeds reached it where some did not. */
function shown({ key, of, format }: FigureOf, row: ComparedRow): { value: string; range: string } {
  const found = of(row);
  const time = row.time_to_target;
  const missed =
    key === "time" && time && time.reached < time.n ? `${time.reached} of ${time.n} reached` : "";
  if (!found) return { value: NONE, range: missed };
  const { value, low, high } = found;
  const [from, to] = low === null || high === null ? ["", ""] : [format(low), format(high)];
  return { value: format(value), range: missed || (from === to ? "" : `${from} to ${to}`) };
}
