import { type PointerEvent, Suspense, useEffect, useRef, useState } from "react";
import { lazily } from "./lazily";

const Hint = lazily(() => import("./hint").then((part) => part.Hint));

/** How long the pointer rests on something before a note says more, ms. */
const REST = 250;

/**
 * A note beside an element while the pointer is on it; its code is fetched when the first one is shown.
 * Returns what the element needs, and the note, which stands after it. `touch`: also where a finger touches it.
 */
export function useHint<T extends HTMLElement>(label: string, touch = false) {
  const target = useRef<T>(null);
  const pointer = useRef("mouse");
  const later = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [shown, setShown] = useState(false);
  useEffect(() => () => clearTimeout(later.current), []);
  useEffect(() => {
    if (!shown) return;
    const press = ({ key }: KeyboardEvent) => {
      if (key === "Escape") setShown(false);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [shown]);
  const about = {
    ref: target,
    onPointerEnter: ({ pointerType }: PointerEvent) => {
      pointer.current = pointerType;
    },
    onMouseEnter: () => {
      if (pointer.current === "touch" && !touch) return;
      clearTimeout(later.current);
      later.current = setTimeout(() => setShown(true), REST);
    },
    onMouseLeave: () => {
      clearTimeout(later.current);
      setShown(false);
    },
  };
  const note = shown && (
    <Suspense>
      <Hint label={label} target={target} />
    </Suspense>
  );
  return [about, note] as const;
}
