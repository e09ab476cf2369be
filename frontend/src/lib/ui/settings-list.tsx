import { settingName, settingValue } from "@/lib/format/settings";
import styles from "./settings-list.module.css";

interface SettingsProps {
  settings: readonly { readonly pointer: string; readonly value: unknown }[];
}

/** Settings with their values, in as many columns as there is room for. */
export function SettingsList({ settings }: SettingsProps) {
  return (
    <dl className={styles.settings}>
      {settings.map(({ pointer, value }) => (
        <div key={pointer}>
          <dt>{settingName(pointer)}</dt>
          <dd>{settingValue(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The same, folded; nothing where there is none. `how` ends "3 settings are". */
export function FoldedSettings({ settings, how }: SettingsProps & { how: string }) {
  if (settings.length === 0) return null;
  return (
    <details className={styles.folded}>
      <summary>
        {settings.length} {settings.length === 1 ? "setting is" : "settings are"} {how}
      </summary>
      <SettingsList settings={settings} />
    </details>
  );
}
