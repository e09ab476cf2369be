import { Text } from "@mantine/core";
import { NONE } from "@/lib/format/numbers";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import type { Change } from "./changes";
import styles from "./changes.module.css";

/** What the draft of a clone has differently from the experiment that is cloned. */
export function ChangesPanel({ changes }: { changes: readonly Change[] }) {
  if (changes.length === 0)
    return (
      <Text fz={13.5} c="dimmed">
        No changes from the original.
      </Text>
    );
  return (
    <TableRegion label="Changes from the original">
      <table className={`${ui.table} ${styles.changes}`}>
        <thead>
          <tr>
            <th scope="col">Setting</th>
            <th scope="col">Original</th>
            <th scope="col">Now</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ place, before, after }) => (
            <tr key={place} data-testid="change">
              <td>{place}</td>
              <td>{before ?? NONE}</td>
              <td>{after ?? NONE}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}
