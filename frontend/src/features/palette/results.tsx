import type { Entry, Group } from "./entries";
import styles from "./palette.module.css";

interface ResultsProps {
  id: string;
  groups: readonly Group[];
  current: Entry | undefined;
  optionId: (entry: Entry) => string;
  mark: (entry: Entry) => void;
  choose: (entry: Entry) => void;
}

/** What fits, in groups. The focus stays in the field, whose keys move through it. */
export function Results({ id, groups, current, optionId, mark, choose }: ResultsProps) {
  return (
    <div id={id} role="listbox" aria-label="Results" className={styles.list} hidden={current === undefined}>
      {groups.map(({ label, entries }) => (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset is no group of options
        <div key={label} role="group" aria-label={label}>
          <div className={styles.group} aria-hidden="true">
            {label}
          </div>
          {entries.map((entry) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field
            // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the current option
            <div
              key={entry.key}
              id={optionId(entry)}
              role="option"
              aria-selected={entry === current}
              className={styles.option}
              onMouseMove={() => mark(entry)}
              onClick={() => choose(entry)}
            >
              <span className={styles.label}>{entry.label}</span>
              {entry.more && <span className={styles.more}>{entry.more}</span>}
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}
