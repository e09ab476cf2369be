import { defaultRangeExtractor, useWindowVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useLayoutEffect, useState } from "react";
import { allOf, type Drawn, keeping, withGaps } from "./gaps";
import { useFocusedRow } from "./use-focused-row";
import { useUnanchored } from "./use-unanchored";
import { useWhole, type Whole } from "./use-whole";

/** Rows drawn above and below the window, so that tab stops and a quick scroll find some. */
const OVERSCAN = 12;

export interface RowsOf {
  readonly count: number;
  /** Height of a row that was not drawn yet, px. */
  readonly estimate: number;
  readonly keyOf: (index: number) => string;
}

export interface PageRows extends Whole, Drawn {
  /** Ref of each drawn row, which also needs `data-index`; undefined where all are drawn. */
  readonly measure: ((row: Element | null) => void) | undefined;
}

/** Of rows that scroll with the page: those in view. `host` is the element that holds them. */
export function usePageRows(
  host: RefObject<HTMLElement | null>,
  { count, estimate, keyOf }: RowsOf,
): PageRows {
  const whole = useWhole(count);
  const active = !whole.whole;
  const top = useTop(host, active);
  useUnanchored(host, active);
  const focused = useFocusedRow(host, active);
  const virtual = useWindowVirtualizer<Element>({
    count,
    enabled: active,
    estimateSize: () => estimate,
    getItemKey: keyOf,
    overscan: OVERSCAN,
    scrollMargin: top,
    rangeExtractor: (range) => keeping(defaultRangeExtractor(range), focused, count),
  });
  const drawn = active ? withGaps(virtual.getVirtualItems(), top, virtual.getTotalSize()) : allOf(count);
  return { ...whole, ...drawn, measure: active ? virtual.measureElement : undefined };
}

/** How far below the top of the page an element begins, px; followed as long as what is above it changes. */
function useTop(host: RefObject<HTMLElement | null>, active: boolean): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    if (!active) return;
    const look = () => {
      if (!host.current) return;
      const now = host.current.getBoundingClientRect().top + window.scrollY;
      setTop((before) => (Math.abs(now - before) > 1 ? now : before));
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [host, active]);
  return top;
}
