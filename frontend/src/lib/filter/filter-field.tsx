import { CloseButton, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { patiently } from "@/lib/api/patiently";
import { listFilterFields } from "@/lib/client/sdk.gen";
import { isComposing, useLineBreak } from "@/lib/ui/composing";
import { fetchLater } from "@/lib/ui/lazily";
import type { Completion, Proposal } from "./completion";
import styles from "./filter-field.module.css";

/** Needed once somebody is in the field. */
const load = async () => {
  const [words, list] = await Promise.all([import("./completion"), import("./filter-proposals")]);
  return { ...words, ...list };
};
fetchLater(load);
const NOTHING: Completion = { from: 0, proposals: [] };

/** Pause after the last key before the list follows, ms. */
const PAUSE = 400;

export function useFilterFields(of: FilterOf = "experiments") {
  const query = useQuery({
    queryKey: ["filter-fields", of],
    queryFn: async ({ signal }) =>
      (await listFilterFields({ query: { of }, signal, throwOnError: true })).data.fields,
    staleTime: 60_000,
  });
  return query.data ?? [];
}

/** What a filter chooses. */
type FilterOf = "experiments" | "runs";

const EXAMPLES: Record<FilterOf, string> = {
  experiments: 'Find: state = running and algorithm ~ "easgd"',
  runs: "Find: algorithm = sync-easgd and workers = 8 and test_accuracy > 0.98",
};

interface FilterFieldProps {
  of?: FilterOf;
  filter: string;
  /** What is wrong with it, in the server's words. */
  error: string | undefined;
  onChange: (filter: string) => void;
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

/** The search field: proposes what may follow, and says what cannot be read. */
export function FilterField({ of = "experiments", filter, error, onChange }: FilterFieldProps) {
  const fields = useFilterFields(of);
  const router = useRouter();
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const [text, setText] = useState(filter);
  const [caret, setCaret] = useState(filter.length);
  const [open, setOpen] = useState(false);
  /** The proposal that Enter takes; -1: none, Enter finds what is written. */
  const [marked, setMarked] = useState(-1);
  const sent = useRef(filter);
  const [parts, setParts] = useState<Awaited<ReturnType<typeof load>>>();
  const fetchParts = () => {
    if (!parts) patiently(load).then(setParts, () => undefined); // without it, nothing is proposed
  };

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
    clearTimeout(later.current);
    sent.current = value.trim();
    onChange(value.trim());
  };
  const write = (value: string, place: number) => {
    setText(value);
    setCaret(place);
    setOpen(true);
    setMarked(-1);
    clearTimeout(later.current);
    const page = router.latestLocation.pathname;
    later.current = setTimeout(() => {
      if (router.latestLocation.pathname === page) send(value); // or another page is being opened, which stays so
    }, PAUSE);
  };

  const { from, proposals } = parts?.complete(text, caret, fields) ?? NOTHING;
  /** What is not complete yet is no fault, and the proposals are where it would be told. */
  const proposing = open && proposals.length > 0;
  const current = proposing ? proposals[marked] : undefined;
  const take = (proposal: Proposal) => {
    const next = parts?.accept(text, caret, from, proposal.text);
    if (!next) return;
    write(next.text, next.caret);
    requestAnimationFrame(() => {
      if (input.current?.value !== next.text) return; // somebody typed on meanwhile
      input.current.setSelectionRange(next.caret, next.caret);
    });
  };
  const enter = () => {
    if (current) return take(current);
    send(text);
    setOpen(false);
  };
  useLineBreak(input, enter);
  const press = (event: KeyboardEvent) => {
    if (isComposing(event)) return;
    const step = STEPS[event.key];
    if (step !== undefined && proposals.length > 0) {
      event.preventDefault(); // the caret stays
      setOpen(true);
      const last = proposals.length - 1;
      setMarked((at) => (at + step > last ? 0 : at + step < 0 ? last : at + step));
    }
    if (event.key === "Escape") setOpen(false);
    if (event.key !== "Enter") return;
    event.preventDefault();
    enter();
  };
  return (
    <div className={styles.find}>
      <TextInput
        ref={input}
        role="combobox"
        aria-label={`Find ${of}`}
        aria-autocomplete="list"
        aria-expanded={proposing}
        aria-controls={proposing ? list : undefined}
        aria-activedescendant={current && parts?.optionId(list, current)}
        placeholder={EXAMPLES[of]}
        value={text}
        error={proposing ? undefined : error}
        data-testid="filter"
        autoComplete="off"
        spellCheck={false}
        autoCapitalize="off"
        onChange={({ currentTarget: { value, selectionStart } }) =>
          write(value, selectionStart ?? value.length)
        }
        onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart ?? text.length)}
        onFocus={fetchParts}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
        rightSection={
          text && (
            <CloseButton
              size="md"
              aria-label={`Show all ${of}`}
              onClick={() => {
                setText("");
                send("");
              }}
            />
          )
        }
      />
      {parts && proposing && (
        <parts.FilterProposals id={list} proposals={proposals} current={current} take={take} />
      )}
    </div>
  );
}
