import { TextInput } from "@mantine/core";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { isComposing, useLineBreak } from "@/lib/ui/composing";
import type { Deed } from "./deeds";
import type { Entry } from "./entries";
import styles from "./palette.module.css";
import { Results } from "./results";
import { useGroups } from "./use-groups";
import { useOpen } from "./use-open";

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
const LONGEST = 200;

/** The field, and the list of what fits: a combobox whose list is always open. */
export function Finder({
  close,
  doIt,
}: {
  close: (elsewhere?: boolean) => void;
  doIt: (deed: Deed) => void;
}) {
  const [typed, setTyped] = useState("");
  const [marked, setMarked] = useState<string>();
  const { groups, searching, fault } = useGroups(typed.trim());
  const open = useOpen(doIt);
  const list = useId();
  const entries = groups.flatMap((group) => group.entries);
  // what is marked stays so while further entries arrive; gone, it is the first
  const at = Math.max(
    0,
    entries.findIndex(({ key }) => key === marked),
  );
  const current = entries[at];
  const currentId = current && optionId(list, current);

  useEffect(() => {
    if (currentId) document.getElementById(currentId)?.scrollIntoView({ block: "nearest" });
  }, [currentId]);

  const choose = (entry: Entry) => {
    const elsewhere = open(entry.target);
    close(elsewhere);
    if (elsewhere) document.getElementById("content")?.focus({ preventScroll: true });
  };
  const field = useRef<HTMLInputElement>(null);
  useLineBreak(field, () => current && choose(current));
  const press = (event: KeyboardEvent) => {
    if (isComposing(event)) return;
    if (event.key === "Escape") close();
    const step = STEPS[event.key];
    if (step !== undefined && entries.length > 0) {
      event.preventDefault();
      setMarked(entries[(at + step + entries.length) % entries.length]?.key);
    }
    if (event.key === "Enter" && current) {
      event.preventDefault();
      choose(current);
    }
  };
  return (
    <>
      <TextInput
        ref={field}
        data-autofocus
        data-mantine-stop-propagation // Escape closes this, and no dialog below it
        size="md"
        variant="unstyled"
        classNames={{ input: styles.input }}
        role="combobox"
        aria-label="Search"
        aria-expanded={entries.length > 0}
        aria-controls={list}
        aria-activedescendant={currentId}
        aria-autocomplete="list"
        placeholder="Page, experiment, run, algorithm, cluster, filter or action"
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        maxLength={LONGEST}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setMarked(undefined);
        }}
        onKeyDown={press}
      />
      <Results
        id={list}
        groups={groups}
        current={current}
        optionId={(entry) => optionId(list, entry)}
        mark={({ key }) => setMarked(key)}
        choose={choose}
      />
      {entries.length === 0 && <p className={styles.nothing}>{searching ? "Searching …" : "No results."}</p>}
      {fault && <p className={styles.fault}>Not everything could be searched. {fault}</p>}
      <div className={styles.foot}>
        <span role="status">
          {searching ? "" : `${entries.length} ${entries.length === 1 ? "result" : "results"}`}
        </span>
        <span aria-hidden="true" className={styles.keys}>
          <kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close
        </span>
      </div>
    </>
  );
}

function optionId(list: string, { key }: Entry): string {
  return `${list}${key}`;
}
