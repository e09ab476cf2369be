import { Modal } from "@mantine/core";
import type { ChartSeries } from "@/lib/charts/series";
import { join } from "@/lib/columns/join";
import type { Drawing } from "@/lib/export/chart-svg";
import { formatCount } from "@/lib/format/numbers";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import styles from "./sheet-table.module.css";

/** Rows that a window holds. */
const MOST = 500;

/** What a chart shows, with what says its values in words. */
export interface Readable extends Drawing {
  readonly formatX: (value: number) => string;
  readonly formatY: (value: number) => string;
}

interface ChartTableProps {
  of: string;
  shown: Readable;
  onClose: () => void;
}

function valuesOf({ x, y, bends }: ChartSeries): { x: ArrayLike<number>; ys: ArrayLike<number | null>[] } {
  if (!bends) return { x, ys: [y] };
  const isValue = (_: unknown, i: number) => !bends[i];
  return { x: Array.from(x).filter(isValue), ys: [Array.from(y).filter(isValue)] };
}

/** The points of a chart that are in view, as a table: a row for each place at which a curve has a value. */
export function ChartTable({ of, shown, onClose }: ChartTableProps) {
  const { series, xTitle, zoom, formatX, formatY } = shown;
  const { x, ys } = join(series.map(valuesOf));
  const [from, to] = zoom ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  const all = x.flatMap((at, i) => {
    const cells = series.map((one, column) => {
      const value = ys[column]?.[i];
      if (value === null || value === undefined || Number.isNaN(value)) return undefined;
      return { text: formatY(value), more: one.detail?.(at) };
    });
    return at >= from && at <= to && cells.some(Boolean) ? [{ at, cells }] : [];
  });
  return (
    <Modal opened onClose={onClose} title={of} size="xl">
      {all.length > MOST && (
        <p>
          The first {formatCount(MOST)} of {formatCount(all.length)} rows; the CSV file has all. A zoom makes
          them fewer.
        </p>
      )}
      <TableRegion label={`${of}, as a table`}>
        <table className={`${ui.table} ${ui.sticky} ${styles.sheet}`} data-testid="chart-table">
          <thead>
            <tr>
              <th scope="col">{xTitle}</th>
              {series.map(({ label }, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a curve is known by its place, its name may repeat
                <th key={column} data-number scope="col" className={ui.number}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {all.slice(0, MOST).map(({ at, cells }) => (
              <tr key={at}>
                <th scope="row">{formatX(at)}</th>
                {cells.map((cell, column) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: as above
                  <td key={column} className={ui.number} title={cell?.more}>
                    {cell?.text}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </TableRegion>
    </Modal>
  );
}
