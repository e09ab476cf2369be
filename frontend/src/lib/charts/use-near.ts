import { type RefObject, useEffect, useEffectEvent, useRef, useState } from "react";
import { usePrinting } from "@/lib/rows/use-whole";

/** How far outside the window something counts as near: it is ready before it is seen. */
const MARGIN = "300px 0px";
const observes = () => typeof IntersectionObserver === "function";

/** Tells whether an element is in view or near it, whenever that changes; returns what ends it. Where a browser cannot tell, it is. */
export function watchNear(
  element: Element,
  tell: (near: boolean) => void,
  rootMargin: string = MARGIN,
): () => void {
  if (!observes()) {
    tell(true);
    return () => undefined;
  }
  const observer = new IntersectionObserver(
    (changes) => {
      const last = changes.at(-1);
      if (last) tell(last.isIntersecting);
    },
    { rootMargin },
  );
  observer.observe(element);
  return () => observer.disconnect();
}

/** Whether an element is in view or near it, or is printed. */
export function useNear(of: RefObject<Element | null>): boolean {
  const printing = usePrinting();
  const [near, setNear] = useState(() => !observes());
  useEffect(() => (of.current ? watchNear(of.current, setNear) : undefined), [of]);
  return near || printing;
}

/** Says, to whom asks, whether an element is in view, and does something when it has left. That it does renders nothing. */
export function useSeen(of: RefObject<Element | null>, left: () => void): RefObject<boolean> {
  const is = useRef(false);
  const leave = useEffectEvent(left);
  useEffect(() => {
    if (!of.current) return;
    return watchNear(
      of.current,
      (now) => {
        if (is.current && !now) leave();
        is.current = now;
      },
      "0px",
    );
  }, [of]);
  return is;
}

type End = (() => void) | undefined;

/**
 * Does one thing while an element is near, another one while it is not, and each anew with another key; each returns what ends
 * it. That it comes near renders nothing. What is returned says whether it is.
 */
export function useWhileNear(
  of: RefObject<Element | null>,
  key: string,
  near: () => End,
  away: () => End,
): RefObject<boolean> {
  const printing = usePrinting();
  const is = useRef(false);
  const seen = useRef(false);
  const turn = useRef<() => void>(() => undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is done depends on the key alone
  useEffect(() => {
    let end: End;
    turn.current = () => {
      end?.();
      is.current = seen.current || printing;
      end = is.current ? near() : away();
    };
    turn.current();
    return () => end?.();
  }, [key, printing]);
  useEffect(() => {
    if (!of.current) return;
    return watchNear(of.current, (now) => {
      if (now === seen.current) return;
      seen.current = now;
      turn.current();
    });
  }, [of]);
  return is;
}
