import { useCallback, useEffect, useRef, useState } from "react";
import type { ExperimentSummary } from "@/lib/client/types.gen";

/** The ids from one place of a list to another one; the second alone, where the first is not there. */
export function between(ids: readonly string[], from: string | undefined, to: string): readonly string[] {
  const [a, b] = [from === undefined ? -1 : ids.indexOf(from), ids.indexOf(to)];
  return a < 0 || b < 0 ? [to] : ids.slice(Math.min(a, b), Math.max(a, b) + 1);
}

/** The experiments that are selected of those that are listed, and what selects them. */
export function useChosen(items: readonly ExperimentSummary[]) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const listed = useRef<readonly string[]>([]);
  const last = useRef<string>(undefined);
  useEffect(() => {
    listed.current = items.map(({ id }) => id);
  }, [items]);
  /** `through`: with those between it and the one before it. The function stays, so that rows are drawn only as they change. */
  const choose = useCallback(({ id }: ExperimentSummary, wanted: boolean, through: boolean) => {
    const meant = through ? between(listed.current, last.current, id) : [id];
    last.current = id;
    setIds((before) => {
      const next = new Set(before);
      for (const each of meant) {
        if (wanted) next.add(each);
        else next.delete(each);
      }
      return next;
    });
  }, []);
  return {
    ids,
    chosen: items.filter(({ id }) => ids.has(id)),
    choose,
    all: () => setIds(new Set(items.map(({ id }) => id))),
    clear: () => {
      last.current = undefined;
      setIds(new Set());
    },
  };
}
