import type { KindView, WorkerView } from "@/lib/client/types.gen";
import { formatCount, formatNumber, formatPercent } from "@/lib/format/numbers";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";

interface Column<Row> {
  readonly title: string;
  readonly hint?: string;
  readonly of: (row: Row) => string | null;
}

type Both = Column<WorkerView | KindView>;
const KIND: Both = { title: "Kind", of: ({ kind }) => kind };
const COMPUTING: Both = { title: "Computing", of: ({ computing }) => formatPercent(computing) };
const THROUGHPUT: Both = { title: "Samples/s", of: ({ throughput }) => formatCount(throughput) };
const SHARES: readonly Both[] = [
  { title: "Share of steps", of: (row) => formatPercent(row.share_of_steps) },
  { title: "Updates", of: ({ updates }) => formatCount(updates) },
  { title: "Share of updates", of: (row) => formatPercent(row.share_of_updates) },
  { title: "Mean staleness", of: ({ staleness }) => formatNumber(staleness) },
];

/** What each worker did; kinds are a column where any has one. */
export function WorkersTable({ workers }: { workers: readonly WorkerView[] }) {
  const columns: Column<WorkerView>[] = [
    { title: "Worker", of: ({ worker }) => String(worker) },
    ...(workers.some(({ kind }) => kind !== null) ? [KIND] : []),
    COMPUTING,
    {
      title: "Speed",
      hint: "Batches per second of computing, over the fastest worker's; measured",
      of: ({ speed }) => formatNumber(speed),
    },
    THROUGHPUT,
    { title: "Steps", of: ({ steps }) => formatCount(steps) },
    ...SHARES,
  ];
  return <Work label="Work by worker" columns={columns} rows={workers} />;
}

/** What the workers of each kind did together. */
export function KindsTable({ kinds }: { kinds: readonly KindView[] }) {
  const workers = { title: "Workers", of: (row: KindView) => formatCount(row.workers) };
  const columns: Column<KindView>[] = [KIND, workers, COMPUTING, THROUGHPUT, ...SHARES];
  return <Work label="Work by kind of worker" columns={columns} rows={kinds} />;
}

interface WorkProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
}

function Work<Row>({ label, columns, rows }: WorkProps<Row>) {
  const named = ({ title }: Column<Row>) => title === columns[0]?.title || title === KIND.title;
  const look = (column: Column<Row>) => (named(column) ? undefined : ui.number);
  return (
    <TableRegion label={label}>
      <table className={`${ui.table} ${ui.sticky}`}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.title}
                scope="col"
                title={column.hint}
                data-number={!named(column) || undefined}
                className={look(column)}
              >
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row is known by its place
            <tr key={at}>
              {columns.map((column) => (
                <td key={column.title} className={look(column)}>
                  {column.of(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}
