import { useEffect, useState } from "react";
import type { Json } from "@/lib/json/document";
import { withNamedBaseline, withPlacedBaseline } from "./baseline";
import type { Replaced } from "./draft-note";
import { keepDraft, keptDraft } from "./kept-drafts";
import { type Typed, typedAs } from "./typed";

function textOf({ as, text, problem }: Typed): Omit<Typed, "of"> {
  return { as, text, problem };
}

/**
 * The draft of the form: what it starts from, or what was left unfinished at the same address. What replaces a draft
 * can be undone.
 */
export function useDraft(start: Json, of: string) {
  const [left] = useState(() => keptDraft(of));
  const [draft, setDraft] = useState(() => withPlacedBaseline(left?.document ?? start));
  const [changed, setChanged] = useState(false);
  const [typed, setTyped] = useState(() => left?.typed && { ...left.typed, of: draft });
  // whether anybody has written what the form holds; an example that was filled in is nobody's work
  const [written, setWritten] = useState(left !== undefined);
  const fresh = () => {
    setDraft(withPlacedBaseline(start));
    setTyped(undefined);
    setChanged(false);
    setWritten(false);
    setReplaced(undefined);
    keepDraft(of, undefined);
  };
  const [replaced, setReplaced] = useState<Replaced | undefined>(
    () => left && { what: "Your unsaved draft was restored.", undo: "Start over", act: fresh },
  );
  useEffect(() => {
    const current = typed && typedAs(typed.as, typed, draft);
    if (changed) keepDraft(of, { document: withNamedBaseline(draft), typed: current && textOf(current) });
  }, [of, draft, typed, changed]);
  const asks = written || typed !== undefined;
  return {
    draft,
    typed,
    setTyped: (next: Typed | undefined) => {
      if (next || left?.typed) setChanged(true);
      setTyped(next);
    },
    replaced,
    /** Whether something would be lost that somebody has written. */
    asks,
    change: (next: (old: Json) => Json) => {
      setChanged(true);
      setWritten(true);
      setDraft(next);
    },
    /** Put a document, which is called so, in place of the draft. */
    fill: (document: Json, label: string) => {
      setTyped(undefined);
      setChanged(true);
      setWritten(false);
      setDraft(withPlacedBaseline(document));
      const back = () => {
        setDraft(draft);
        setTyped(typed);
        setWritten(true);
        setReplaced(undefined);
      };
      const what = `“${label}” has replaced your draft.`;
      setReplaced((old) => (asks ? { what, undo: "Restore draft", act: back } : old && { ...old, what }));
    },
    /** The draft has become an experiment. */
    started: () => {
      setChanged(false);
      keepDraft(of, undefined);
    },
  };
}
