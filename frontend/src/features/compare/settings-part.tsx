import type { ComparedRows, Setting } from "@/lib/client/types.gen";
import { settingName, settingValue } from "@/lib/format/settings";
import { Section } from "@/lib/ui/section";
import { FoldedSettings } from "@/lib/ui/settings-list";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./compare.module.css";
import { colorsOf, placeOf, sourceOf } from "./names";
import { keyOf } from "./selection";

/** The settings in which rows differ; those that are equal are folded. */
export function SettingsPart({ compared }: { compared: ComparedRows }) {
  const differing = compared.settings.filter(({ differs }) => differs);
  const equal = compared.settings.filter(({ differs }) => !differs);
  return (
    <Section title="Settings that differ" testId="settings">
      {differing.length === 0 ? (
        <p className={styles.note}>
          {compared.rows.length === 1 ? "There is only one row." : "All rows have the same settings."}
        </p>
      ) : (
        <Differences compared={compared} settings={differing} />
      )}
      <FoldedSettings
        settings={equal.map(({ name, values: [value] }) => ({ pointer: name, value }))}
        how="the same"
      />
    </Section>
  );
}

function Differences({ compared, settings }: { compared: ComparedRows; settings: readonly Setting[] }) {
  const color = colorsOf(compared.experiments);
  return (
    <TableRegion label="Settings by row">
      <table className={`${ui.table} ${ui.sticky} ${styles.settings}`}>
        <caption className={ui.unseen}>
          Each setting that is not the same in all rows, defaults and tuned values included.
        </caption>
        <thead>
          <tr>
            <th scope="col">Setting</th>
            {compared.rows.map((row) => (
              <th key={keyOf(row)} scope="col">
                <VariantChip name={row.variant} index={color(row.variant)} />
                <span className={ui.range}>
                  {sourceOf(row)} {placeOf(row)}
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {settings.map(({ name, values }) => (
            <tr key={name} data-testid="setting">
              <th scope="row" className={styles.rowName}>
                {settingName(name)}
              </th>
              {compared.rows.map((row, at) => (
                <td key={keyOf(row)}>{settingValue(values[at])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}
