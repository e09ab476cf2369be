import { type RefObject, useLayoutEffect, useRef, useState } from "react";
import { usePrinting } from "@/lib/rows/use-whole";
import { PAPER } from "@/lib/theme/paper";

/** The width of an element, px, as its place allows, and as a sheet does while the page is printed; 0 before it is shown. */
export function useWidth<T extends HTMLElement>(): [RefObject<T | null>, number] {
  const host = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const measure = () => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [host, usePrinting() ? Math.min(width, PAPER) : width];
}
