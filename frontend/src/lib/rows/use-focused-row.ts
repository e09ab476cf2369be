import { type RefObject, useEffect, useState } from "react";

/** The index of the row with the focus: it stays drawn when it is scrolled out of view, or the focus would be lost. */
export function useFocusedRow(host: RefObject<HTMLElement | null>, active: boolean): number | undefined {
  const [index, setIndex] = useState<number>();
  useEffect(() => {
    const element = host.current;
    if (!active || !element) return;
    const enter = (event: FocusEvent) => {
      const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-index]") : null;
      setIndex(row ? Number(row.dataset.index) : undefined);
    };
    const leave = () => setIndex(undefined);
    element.addEventListener("focusin", enter);
    element.addEventListener("focusout", leave);
    return () => {
      element.removeEventListener("focusin", enter);
      element.removeEventListener("focusout", leave);
    };
  }, [host, active]);
  return index;
}
