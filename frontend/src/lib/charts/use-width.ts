import { type RefObject, useLayoutEffect, useRef, useState } from "react";

/** The width of an element, px, as its place allows; 0 before it is shown. */
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
  return [host, width];
}
