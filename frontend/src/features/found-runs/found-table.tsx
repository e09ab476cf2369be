import { Link } from "@tanstack/react-router";
import type { RunSummary } from "@/lib/client/types.gen";
import { experimentOf } from "@/lib/keeping/experiment-of";
import { SelectBox } from "@/lib/ui/select-box";
import { SortHead } from "@/lib/ui/sort-head";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { COLUMNS, type RunColumn } from "./columns";
import styles from "./found-runs.module.css";

interface FoundTableProps {
  runs: readonly RunSummary[];
  shown: ReadonlySet<string>;
  sort: string | undefined;
  /** Ids of those that are selected, and what selects one. */
  selected: readonly string[];
  select: (id: string, on: boolean) => void;
  click: (key: string) => void;
}

export function FoundTable({ runs, shown, sort, selected, select, click }: FoundTableProps) {
  const columns = COLUMNS.filter(({ key }) => shown.has(key));
  // runs are numbered within their experiment: of several, a number alone means none
  const several = runs.some(({ experiment_id: id }) => id !== runs[0]?.experiment_id);
  const told = (run: RunSummary) => (several ? experimentOf(run) : undefined);
  return (
    <TableRegion label="Runs">
      <table className={`${ui.table} ${ui.sticky}`}>
        <thead>
          <tr>
            <th scope="col">Run</th>
            {columns.map((column) => (
              <Head key={column.key} column={column} sort={sort} click={click} />
            ))}
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id} data-testid="found-run">
              <th scope="row" className={styles.run}>
                <SelectBox run={run} selected={selected.includes(run.id)} select={select} />
                <Link
                  to="/runs/$runId"
                  params={{ runId: run.id }}
                  aria-label={[`Run ${run.number}`, run.variant, told(run)].filter(Boolean).join(", ")}
                >
                  #{run.number}
                </Link>
                {!shown.has("experiment") && told(run) && (
                  <span className={styles.experiment} title={told(run)}>
                    of {told(run)}
                  </span>
                )}
              </th>
              {columns.map((column) => (
                <td key={column.key} className={column.number ? ui.number : undefined}>
                  {column.cell(run)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}

function Head({ column, sort, click }: { column: RunColumn } & Pick<FoundTableProps, "sort" | "click">) {
  const { sort: key, title, number } = column;
  const sorted =
    key === undefined
      ? undefined
      : sort === key
        ? "ascending"
        : sort === `-${key}`
          ? "descending"
          : undefined;
  return <SortHead title={title} number={number} sorted={sorted} turn={key ? () => click(key) : undefined} />;
}
