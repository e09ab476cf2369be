import { type RefObject, useEffect, useState } from "react";
import { usePrinting } from "@/lib/rows/use-whole";

/** How far outside the window something counts as near: it is ready before it is seen. */
const MARGIN = "300px 0px";
const observes = () => typeof IntersectionObserver === "function";

/** Whether an element is in view or near it, or is printed. Where a browser cannot tell, everything is. */
export function useNear(of: RefObject<Element | null>): boolean {
  const printing = usePrinting();
  const [near, setNear] = useState(() => !observes());
  useEffect(() => {
    const element = of.current;
    if (!element || !observes()) return;
    const observer = new IntersectionObserver(
      (changes) => {
        const last = changes.at(-1);
        if (last) setNear(last.isIntersecting);
      },
      { rootMargin: MARGIN },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [of]);
  return near || printing;
}
