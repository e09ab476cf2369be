import { useComputedColorScheme } from "@mantine/core";
import { usePrinting } from "@/lib/rows/use-whole";

/** Width of what a sheet of A4 or Letter holds between its usual margins, px. */
export const PAPER = 700;

const SCHEME = "data-mantine-color-scheme";

/**
 * Paper is white: for it, the page has the light scheme, also where a drawing reads its colours from the page. To be
 * called before any component listens: browsers call listeners in their order.
 */
export function lightOnPaper(root: HTMLElement = document.documentElement): void {
  let before: string | null = null;
  window.addEventListener("beforeprint", () => {
    before = root.getAttribute(SCHEME);
    root.setAttribute(SCHEME, "light");
  });
  window.addEventListener("afterprint", () => {
    if (before !== null) root.setAttribute(SCHEME, before);
  });
}

/** The scheme in which a canvas is drawn: that of the page, and on paper the light one. */
export function useDrawnScheme(): "light" | "dark" {
  const scheme = useComputedColorScheme("light");
  return usePrinting() ? "light" : scheme;
}
