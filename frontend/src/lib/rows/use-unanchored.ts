import { type RefObject, useLayoutEffect } from "react";

/**
 * The rows are held in their place by the one who draws them. The browser would do it once more: each row that is
 * drawn or left out would move the page back, and who scrolls would hardly move on.
 */
export function useUnanchored(host: RefObject<HTMLElement | null>, active: boolean): void {
  useLayoutEffect(() => {
    const element = host.current;
    if (!active || !element) return;
    element.style.setProperty("overflow-anchor", "none");
    return () => {
      element.style.removeProperty("overflow-anchor");
    };
  }, [host, active]);
}
