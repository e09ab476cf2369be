import { CloseButton, Combobox, TextInput, useCombobox } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { listFilterFields } from "@/lib/client/sdk.gen";
import { accept, complete } from "./completion";
import styles from "./experiments.module.css";

/** Pause after the last key before the list follows, ms. */
const PAUSE = 400;

export function useFilterFields() {
  const query = useQuery({
    queryKey: ["filter-fields"],
    queryFn: async ({ signal }) => (await listFilterFields({ signal, throwOnError: true })).data.fields,
    staleTime: 60_000,
  });
  return query.data ?? [];
}

interface FilterFieldProps {
  filter: string;
  /** What is wrong with it, in the server's words. */
  error: string | undefined;
  onChange: (filter: string) => void;
}

/** The search field: proposes what may follow, and says what cannot be read. */
export function FilterField({ filter, error, onChange }: FilterFieldProps) {
  const fields = useFilterFields();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(filter);
  const [caret, setCaret] = useState(filter.length);
  const sent = useRef(filter);
  const store = useCombobox({ onDropdownClose: () => store.resetSelectedOption() });

  const later = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(later.current), []);
  useEffect(() => {
    if (filter === sent.current) return; // what was typed here comes back
    clearTimeout(later.current); // whoever follows a link has left what was typed
    sent.current = filter;
    setText(filter);
    setCaret(filter.length);
  }, [filter]);

  const send = (value: string) => {
    sent.current = value.trim();
    onChange(value.trim());
  };
  const write = (value: string, place: number) => {
    setText(value);
    setCaret(place);
    clearTimeout(later.current);
    later.current = setTimeout(() => send(value), PAUSE);
  };

  const { from, proposals } = complete(text, caret, fields);
  /** What is not complete yet is no fault, and the proposals are where it would be told. */
  const proposing = store.dropdownOpened && proposals.length > 0;
  return (
    <Combobox
      store={store}
      shadow="md"
      onOptionSubmit={(proposal) => {
        const next = accept(text, caret, from, proposal);
        write(next.text, next.caret);
        store.resetSelectedOption();
        requestAnimationFrame(() => {
          if (input.current?.value !== next.text) return; // somebody typed on meanwhile
          input.current.setSelectionRange(next.caret, next.caret);
        });
      }}
    >
      <Combobox.Target withExpandedAttribute autoComplete="off">
        <TextInput
          ref={input}
          aria-label="Find experiments"
          placeholder='Find: state = running and algorithm ~ "easgd"'
          className={styles.find}
          value={text}
          error={proposing ? undefined : error}
          data-testid="filter"
          spellCheck={false}
          autoCapitalize="off"
          onChange={({ currentTarget }) => {
            write(currentTarget.value, currentTarget.selectionStart ?? currentTarget.value.length);
            store.openDropdown();
            store.resetSelectedOption();
          }}
          onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart ?? text.length)}
          onClick={() => store.openDropdown()}
          onBlur={() => store.closeDropdown()}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || store.getSelectedOptionIndex() >= 0) return;
            clearTimeout(later.current);
            send(text);
            store.closeDropdown();
          }}
          rightSection={
            text && (
              <CloseButton
                size="md"
                aria-label="Show all experiments"
                onClick={() => {
                  clearTimeout(later.current);
                  setText("");
                  send("");
                }}
              />
            )
          }
        />
      </Combobox.Target>
      <Combobox.Dropdown hidden={proposals.length === 0}>
        <Combobox.Options aria-label="What may follow" mah={320} style={{ overflowY: "auto" }}>
          {proposals.map((proposal) => (
            <Combobox.Option key={proposal.text} value={proposal.text} className={styles.proposal}>
              <code>{proposal.text}</code>
              <span>{proposal.note}</span>
            </Combobox.Option>
          ))}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}
