import { useEffect } from "react";

/** Name the page in the browser's tab and history. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Hooke`;
  }, [title]);
}
