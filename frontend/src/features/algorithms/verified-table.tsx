import screen from "@/lib/ui/screen.module.css";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import styles from "./algorithms.module.css";
import type { Findings } from "./verified";

/** Each property with the worlds and numbers of workers for which a test verifies it. */
export function VerifiedTable({ findings: { verified, missing } }: { findings: Findings }) {
  return (
    <>
      <TableRegion label="Verified properties">
        <table className={ui.table} data-testid="verified-table">
          <thead>
            <tr>
              <th scope="col">Property</th>
              <th scope="col">Virtual time, P</th>
              <th scope="col">MPI, P</th>
            </tr>
          </thead>
          <tbody>
            {verified.map(({ property, virtual, mpi }) => (
              <tr key={property}>
                <td className={styles.wrapped}>{property}</td>
                <td>{virtual || "–"}</td>
                <td>{mpi || "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableRegion>
      {missing && <p className={screen.intro}>{missing}</p>}
    </>
  );
}
