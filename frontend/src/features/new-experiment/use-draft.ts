import { useEffect, useState } from "react";
import type { Json } from "@/lib/json/document";
import { withNamedBaseline, withPlacedBaseline } from "./baseline";
import type { Replaced } from "./draft-note";
import { EXAMPLE } from "./example";
import type { TypedJson } from "./json-editor";
import { keepDraft, keptDraft } from "./kept-drafts";

/**
 * The draft of the form: what it starts from, or what was left unfinished at the same address. What replaces a draft
 * can be undone.
 */
export function useDraft(start: Json, of: string) {
  const [left] = useState(() => keptDraft(of));
  const [draft, setDraft] = useState(() => withPlacedBaseline(left ?? start));
  const [changed, setChanged] = useState(false);
  const [typed, setTyped] = useState<TypedJson>();
  const fresh = () => {
    setDraft(withPlacedBaseline(start));
    setTyped(undefined);
    setChanged(false);
    setReplaced(undefined);
    keepDraft(of, undefined);
  };
  const [replaced, setReplaced] = useState<Replaced | undefined>(
    () => left && { what: "This is the draft that you left here.", undo: "Start afresh", act: fresh },
  );
  useEffect(() => {
    if (changed) keepDraft(of, withNamedBaseline(draft));
  }, [of, draft, changed]);
  return {
    draft,
    typed,
    setTyped,
    replaced,
    change: (next: (old: Json) => Json) => {
      setChanged(true);
      setDraft(next);
    },
    fillExample: () => {
      setTyped(undefined);
      setChanged(true);
      setDraft(withPlacedBaseline(EXAMPLE));
      if (changed || left) {
        const act = () => {
          setDraft(draft);
          setTyped(typed);
          setReplaced(undefined);
        };
        setReplaced({ what: "The example has replaced your draft.", undo: "Bring it back", act });
      }
    },
    /** The draft has become an experiment. */
    started: () => {
      setChanged(false);
      keepDraft(of, undefined);
    },
  };
}
