import { useCallback, useRef } from "react";

/** Changes of one range that follow each other within this time are one step for Back, ms. */
const TOGETHER = 1000;
/** What moves many times as somebody pans, slides or holds a key: the part of an axis in view, the strength of smoothing. */
const RANGES: ReadonlySet<string> = new Set(["x", "t", "smooth"]);

/** Whether a change of the address takes the place of the one before, so that Back does not undo it alone. */
export function useSteps(): (changes: object) => boolean {
  const last = useRef<{ what: string; at: number }>(undefined);
  return useCallback((changes) => {
    const names = Object.keys(changes);
    const what = names.join();
    const now = performance.now();
    const before = last.current;
    last.current = { what, at: now };
    const isRange = names.some((name) => RANGES.has(name));
    return isRange && before?.what === what && now - before.at < TOGETHER;
  }, []);
}
