import type { ComparedRows, Setting } from "@/lib/client/types.gen";
import { settingName, settingValue } from "@/lib/format/settings";
import { Section } from "@/lib/ui/section";
import { FoldedSettings } from "@/lib/ui/settings-list";
import list from "@/lib/ui/settings-list.module.css";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./compare.module.css";
import { colorsOf, placeOf, sourceOf } from "./names";
import { keyOf } from "./selection";

/** What the server writes of the spaces that were searched: hundreds of settings, where one row is of a tuning. */
const SPACES = "/tuning/spaces/";

/** The settings in which rows differ; those that are equal are folded, and so are spaces that were searched. */
export function SettingsPart({ compared }: { compared: ComparedRows }) {
  const all = compared.settings.filter(({ differs }) => differs);
  const spaces = all.filter(({ name }) => name.startsWith(SPACES));
  const differing = all.filter((one) => !spaces.includes(one));
  const equal = compared.settings.filter(({ differs }) => !differs);
  return (
    <Section title="Settings that differ" testId="settings">
      {differing.length === 0 ? (
        <p className={styles.note}>
          {compared.rows.length === 1
            ? "There is only one row."
            : `All rows have the same settings${spaces.length > 0 ? " apart from search spaces" : ""}.`}
        </p>
      ) : (
        <Differences compared={compared} settings={differing} label="Settings by row" />
      )}
      {spaces.length > 0 && (
        <details className={list.folded} data-testid="search-spaces">
          <summary>
            {spaces.length}{" "}
            {spaces.length === 1 ? "setting of a search space differs" : "settings of search spaces differ"}
          </summary>
          <Differences compared={compared} settings={spaces} label="Search spaces by row" />
        </details>
      )}
      <FoldedSettings
        settings={equal.map(({ name, values: [value] }) => ({ pointer: name, value }))}
        how="the same"
      />
    </Section>
  );
}

interface DifferencesProps {
  compared: ComparedRows;
  settings: readonly Setting[];
  label: string;
}

function Differences({ compared, settings, label }: DifferencesProps) {
  const color = colorsOf(compared.experiments);
  return (
    <TableRegion label={label}>
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
