import { Text } from "@mantine/core";
import type { RunView } from "@/lib/client/types.gen";
import { PictureItems } from "@/lib/export/picture-items";
import { formatPercent } from "@/lib/format/numbers";
import { Section } from "@/lib/ui/section";
import { TableRegion } from "@/lib/ui/table-region";
import { heatSvg } from "./heat-export";
import { heatRows, strength } from "./phase-heat";
import styles from "./timeline.module.css";

const TITLE = "Share of time by rank and phase";

/** The share of every phase in the time of every rank, for comparing ranks: darker is more. */
export function HeatMap({ run }: { run: RunView }) {
  if (run.phases.length < 2) return null;
  const rows = heatRows(run.phases);
  const apart = rows.some((row) => row.cells.some((cell) => cell.apart));
  return (
    <Section title={TITLE} testId="heat-map">
      <TableRegion
        label="Table of shares by rank and phase"
        more={<PictureItems of={TITLE} drawing={() => heatSvg(TITLE, rows)} />}
      >
        <table className={styles.sheet}>
          <thead>
            <tr>
              <th scope="col">rank</th>
              {rows[0]?.cells.map(({ phase }) => (
                <th key={phase} scope="col">
                  {phase}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.rank}>
                <th scope="row">
                  {row.role} {row.rank}
                </th>
                {row.cells.map(({ phase, share, apart: far }) => (
                  <td
                    key={phase}
                    data-apart={far}
                    className={far ? styles.apart : undefined}
                    style={{ background: heat(phase, share) }}
                  >
                    {formatPercent(share)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </TableRegion>
      <Text fz={12.5} c="dimmed" mt={8}>
        Of the {run.simulated ? "virtual" : "wall"} time of each rank, evaluations included.
        {apart && " Bold: more than 5 percentage points from the median of its role."}
      </Text>
    </Section>
  );
}

/** The colour of a share: that of the phase, stronger for more. */
function heat(phase: string, share: number): string {
  return `color-mix(in srgb, var(--phase-${phase}) ${strength(share)}%, var(--hk-page))`;
}
