import { among, phasesOver, pieces } from "@/lib/charts/phase-stack";
import type { PhasesRow } from "@/lib/client/types.gen";
import { formatPercent } from "@/lib/format/numbers";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import answer from "./answer.module.css";

const THIRDS = ["first", "middle", "last"];

/** Phases over time in numbers: of the first, the middle and the last third of what was recorded. */
export function PhasesTable({ rows }: { rows: readonly PhasesRow[] }) {
  const shown = phasesOver(rows);
  return (
    <details className={answer.full}>
      <summary>Means of thirds</summary>
      <TableRegion label="Shares of phases over time">
        <table className={`${ui.table} ${ui.sticky}`} data-testid="phases-table">
          <thead>
            <tr>
              <th scope="col">Variant</th>
              <th scope="col">Third</th>
              {[...shown, "hidden"].map((phase) => (
                <th key={phase} scope="col" data-number className={ui.number}>
                  {phase}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.flatMap((row) =>
              pieces(row, THIRDS.length).map(({ shares, hidden }, i) => (
                <tr key={`${row.variant} ${THIRDS[i]}`}>
                  <th scope="row">{row.variant}</th>
                  <td>{THIRDS[i]}</td>
                  {[...among(shown, shares), hidden].map((share, phase) => (
                    <td key={shown[phase] ?? "hidden"} className={ui.number}>
                      {formatPercent(share)}
                    </td>
                  ))}
                </tr>
              )),
            )}
          </tbody>
        </table>
      </TableRegion>
    </details>
  );
}
